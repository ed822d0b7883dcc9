SELECT queen.alter_queue('bench', completed_retention => '1 s');
SELECT queen.worker_start();
