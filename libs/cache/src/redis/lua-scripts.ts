import { MAX_NOTES } from '../port/cache.ts';

/**
 * Atomic version of `take` in sliding-window.ts, by the server's clock. A run is [first, last, count]. Returns -1 if the amount exceeds the
 * maximum.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local max, window, amount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('GET', KEYS[1])
local runs, total = {}, 0
for _, run in ipairs(kept and cmsgpack.unpack(kept) or {}) do
  -- A clock that was put back must not lock anybody out for longer than a window.
  local first, last = math.min(run[1], now), math.min(run[2], now)
  if last > now - window then
    runs[#runs + 1] = { first, last, run[3] }
    total = total + run[3]
  end
end
if total + amount > max then
  local left = total
  for _, run in ipairs(runs) do
    left = left - run[3]
    if left + amount <= max then return math.max(1, run[2] + window - now) end
  end
  return -1
end
local newest = runs[#runs]
if newest and now - newest[1] < window / 64 then
  newest[2], newest[3] = now, newest[3] + amount
else
  runs[#runs + 1] = { now, now, amount }
end
redis.call('SET', KEYS[1], cmsgpack.pack(runs), 'PX', window)
return 0
`;

/** Adds to a counter and keeps its expiry. The sum is limited to the safe integers. */
const ADD = `
local sum = (tonumber(redis.call('GET', KEYS[1])) or 0) + tonumber(ARGV[1])
sum = math.min(math.max(sum, ${Number.MIN_SAFE_INTEGER}), ${Number.MAX_SAFE_INTEGER})
local left = redis.call('PTTL', KEYS[1])
local text = string.format('%.0f', sum)
redis.call('SET', KEYS[1], text, 'PX', left > 0 and left or ARGV[2])
return text
`;

/** Limits of one exchange reply. One additional note may exceed them. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_ANSWER_NOTES = 256;

/**
 * Appends a note, if given. Returns the new read position, then age and text of each note of other replicas after the old position. A
 * stream that is younger than the old position was recreated and is read from its beginning.
 */
const EXCHANGE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local by, keep, read, note = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local function place(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local from = '-'
if read ~= '' then
  local ms, seq = place(read)
  from = string.format('%.0f-%.0f', ms, seq + 1)
  if newest then
    local newestMs, newestSeq = place(newest[1])
    if newestMs < ms or (newestMs == ms and newestSeq < seq) then from = '-' end
  end
end
local answer, bytes = { read }, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ${MAX_ANSWER_NOTES})) do
  if bytes > ${MAX_ANSWER_BYTES} then break end
  local age = now - place(entry[1])
  local left = entry[2]
  answer[1] = entry[1]
  if left[2] ~= by and age < keep then
    answer[#answer + 1] = tostring(math.max(age, 0))
    answer[#answer + 1] = left[4]
    bytes = bytes + #left[4]
  end
end
if note then
  redis.call('XADD', KEYS[1], 'MAXLEN', ${MAX_NOTES}, '*', 'by', by, 'note', note)
  redis.call('PEXPIRE', KEYS[1], keep)
end
return answer
`;

export const SCRIPTS = {
  switchyardTake: { lua: TAKE, numberOfKeys: 1 },
  switchyardAdd: { lua: ADD, numberOfKeys: 1 },
  switchyardExchange: { lua: EXCHANGE, numberOfKeys: 1 },
};

/** The client with these scripts. */
export interface Scripted {
  switchyardTake(name: string, max: number, windowMs: number, amount: number): Promise<number>;
  switchyardAdd(name: string, amount: number, ttlMs: number): Promise<string>;
  switchyardExchange(name: string, by: string, keepMs: number, read: string, ...note: string[]): Promise<[string, ...string[]]>;
}
