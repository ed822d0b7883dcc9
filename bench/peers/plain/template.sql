CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json NOT NULL);
-- With several readers each has its copy.
CREATE TABLE copies (reader int, id bigint GENERATED ALWAYS AS IDENTITY, payload json NOT NULL, PRIMARY KEY (reader, id));
