INSERT INTO plain (payload) VALUES (:payload);
