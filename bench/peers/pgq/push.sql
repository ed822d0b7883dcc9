SELECT pgq.insert_event('bench', 'order', :payload);
