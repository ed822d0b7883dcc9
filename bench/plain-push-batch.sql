-- A JSON array, each element a row.
INSERT INTO plain (payload) SELECT value FROM json_array_elements(:payloads);
