/**
 * What the server runs for one operation, whole or not at all. A space has four keys of one cluster slot:
 *
 * ```text
 * values   hash: key -> 'n' and an integer, or 'b' and bytes      keys    sorted set of the keys, in the order of their bytes
 * expiry   sorted set of the keys that expire, by time            bytes   sum of what keys and values weigh
 * ```
 *
 * Times are the server's, so that the clocks of several hosts need not agree; `ttl` -1: the value stays.
 */
export const VALKEY_SCRIPT = `
local values, keys, expiry, bytes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local verb = ARGV[1]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function weigh(key, value)
  if string.sub(value, 1, 1) == 'n' then return #key + 8 end
  return #key + #value - 1
end

local function remove(key)
  local value = redis.call('HGET', values, key)
  if not value then return end
  redis.call('HDEL', values, key)
  redis.call('ZREM', keys, key)
  redis.call('ZREM', expiry, key)
  redis.call('DECRBY', bytes, weigh(key, value))
end

local function sweep(most)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, most)) do remove(key) end
end

local function has_expired(key)
  local at = redis.call('ZSCORE', expiry, key)
  return at and tonumber(at) <= now
end

local function read(key)
  local value = redis.call('HGET', values, key)
  if value and not has_expired(key) then return value end
  return false
end

local function is_full(key, value, max_keys, max_bytes)
  local former = redis.call('HGET', values, key)
  local count = redis.call('HLEN', values)
  local sum = tonumber(redis.call('GET', bytes) or '0') + weigh(key, value)
  if former then sum = sum - weigh(key, former) else count = count + 1 end
  return count > max_keys or sum > max_bytes
end

-- The space goes a second after the last of its keys, where all of them expire. At once would be a race: PEXPIREAT deletes what
-- expires by the time of its own call, so a slow script could leave one of the four behind.
local function let_go()
  local count = redis.call('HLEN', values)
  local last = count > 0 and redis.call('ZCARD', expiry) == count
    and redis.call('ZREVRANGE', expiry, 0, 0, 'WITHSCORES')[2]
  for _, name in ipairs(KEYS) do
    if last then redis.call('PEXPIREAT', name, tonumber(last) + 1000) else redis.call('PERSIST', name) end
  end
end

local function write(key, value, ttl, max_keys, max_bytes)
  if is_full(key, value, max_keys, max_bytes) then
    sweep(-1)
    if is_full(key, value, max_keys, max_bytes) then return false end
  end
  local former = redis.call('HGET', values, key)
  redis.call('INCRBY', bytes, weigh(key, value) - (former and weigh(key, former) or 0))
  redis.call('HSET', values, key, value)
  redis.call('ZADD', keys, 0, key)
  if ttl < 0 then redis.call('ZREM', expiry, key) else redis.call('ZADD', expiry, now + ttl, key) end
  sweep(16)
  let_go()
  return true
end

if verb == 'get' then return read(ARGV[2]) end

if verb == 'list' then
  local prefix, from, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
  local found, start = {}, 0
  while true do
    local page = redis.call('ZRANGEBYLEX', keys, from, '+', 'LIMIT', start, limit)
    for _, key in ipairs(page) do
      if #found == limit or string.sub(key, 1, #prefix) ~= prefix then return found end
      if not has_expired(key) then found[#found + 1] = key end
    end
    if #page < limit then return found end
    start = start + #page
  end
end

local key = ARGV[2]

if verb == 'delete' then
  local was = read(key) and 1 or 0
  remove(key)
  let_go()
  return was
end

local ttl, max_keys, max_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

if verb == 'set' then return write(key, ARGV[6], ttl, max_keys, max_bytes) and 1 or 'full' end

if verb == 'compare' then
  local expected, value = ARGV[6], ARGV[7]
  if (read(key) or '') ~= expected then return 0 end
  if value == '' then
    remove(key)
    let_go()
    return 1
  end
  return write(key, value, ttl, max_keys, max_bytes) and 1 or 'full'
end

local former = read(key)
if former and string.sub(former, 1, 1) ~= 'n' then return 'no number' end
local sum = tonumber(former and string.sub(former, 2) or '0') + tonumber(ARGV[6])
if math.abs(sum) > 9007199254740991 then return 'no number' end
local text = string.format('%.0f', sum)
if former then redis.call('HSET', values, key, 'n' .. text)
elseif not write(key, 'n' .. text, ttl, max_keys, max_bytes) then return 'full' end
return text`
