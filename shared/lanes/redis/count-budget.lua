-- Says what of a budget is used in a period, as PostgreSQL has it: where nothing was counted yet, or less. Requests end here
-- before their receipts are there, so that a count that is higher knows more.
--
-- KEYS counter
-- ARGV used, and lifeS of the counter

local settled = redis.call('HGET', KEYS.counter, 'settled')
if settled and tonumber(settled) >= tonumber(ARGV.used) then return 0 end
redis.call('HSET', KEYS.counter, 'settled', ARGV.used)
redis.call('EXPIRE', KEYS.counter, tonumber(ARGV.lifeS))
return 1
