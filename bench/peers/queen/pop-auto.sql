SELECT partition, message_offset, payload FROM queen.pop('bench', 'g0', :batch, auto_ack => true);
