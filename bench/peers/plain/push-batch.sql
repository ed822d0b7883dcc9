INSERT INTO plain (payload) SELECT value FROM json_array_elements(:payloads);
