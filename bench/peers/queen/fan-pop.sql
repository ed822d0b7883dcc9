SELECT partition, message_offset, payload FROM queen.pop('bench', 'g' || :client_id, :batch, auto_ack => true);
