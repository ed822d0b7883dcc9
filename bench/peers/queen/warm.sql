-- The first look of a group is at all partitions; this one takes nothing.
CALL queen.wait('bench', 'g0', '0 s');
