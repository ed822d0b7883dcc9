SELECT count(pgq.insert_event('bench', 'order', value::text)) FROM json_array_elements(:payloads);
