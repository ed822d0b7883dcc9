INSERT INTO copies (reader, payload) SELECT r, value FROM json_array_elements(:payloads), generate_series(0, :groups - 1) AS r;
