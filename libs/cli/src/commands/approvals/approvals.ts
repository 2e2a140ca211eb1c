import { setTimeout as sleep } from 'node:timers/promises';
import type { CallResult } from '@switchyard/client';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { getText } from '../../arguments/flags.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { second } from '../../output/times.ts';
import { self } from '../../server/installation.ts';

const WATCH_INTERVAL_MS = 1_000;
const ID_COLUMN_CHARS = 13;

type Request = CallResult<'admin.approval.pending'>['requests'][number];

export const approvals = group({
  name: 'approvals',
  about: 'Shows and answers tool calls and questions of agents that wait for a person. An id may be shortened to a unique beginning.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists the waiting calls, oldest first', run: list },
    show: { takes: '<id>', about: 'shows one waiting call with its arguments', run: show },
    approve: { takes: '<id>', about: 'lets the call run, once and with the shown arguments', flags: ['reason'], run: answer(true) },
    answer: { takes: '<id> <text>', about: 'answers a question of an agent', run: answerQuestion },
    deny: { takes: '<id>', about: 'refuses the call; the agent reads the reason', flags: ['reason'], run: answer(false) },
    watch: { about: 'prints waiting calls as they arrive, until it is interrupted', run: watch },
  },
  flags: { reason: { value: 'text', about: 'approve, deny: reason, kept with the answer' } },
  examples: [
    'approvals',
    'approvals approve appr_4fT0',
    'approvals deny appr_4fT0 --reason "not today"',
    'approvals answer ask_7Hk2 "the blue one"',
  ],
});

async function list({ call, output }: CommandContext): Promise<void> {
  const pending = await call('admin.approval.pending', {});
  if (output !== 'table') return printAs(output, pending);
  if (pending.requests.length === 0) return remark('No call waits for approval.');
  print(table(['ID', 'ACTION', 'AGENT', 'SESSION', 'DENIED AT (UTC)', 'ARGUMENTS'], pending.requests.map(toLine)));
}

function toLine({ requestId, action, agentId, sessionKey, createdAt, timeoutMs, params }: Request): string[] {
  const until = second(createdAt + timeoutMs);
  return [requestId.slice(0, ID_COLUMN_CHARS), action, agentId, sessionKey, until, oneLine(JSON.stringify(params))];
}

async function show({ call, output }: CommandContext, id: string): Promise<void> {
  const request = await find(call, id);
  printAs(output === 'table' ? 'json' : output, request);
}

function answer(approved: boolean) {
  return async ({ call, flags, output }: CommandContext, id: string): Promise<void> => {
    const requestId = id.length < FULL_ID_CHARS ? (await find(call, id)).requestId : id;
    const reply = await call('admin.approval.resolve', { id: requestId, approved, ...getText(flags, 'reason', 'reason') });
    if (output !== 'table') printAs(output, reply);
    else print(`${approved ? 'Approved' : 'Denied'} ${requestId}.\n`);
  };
}

async function answerQuestion({ call, output }: CommandContext, id: string, text: string): Promise<void> {
  const { requestId } = await find(call, id);
  const reply = await call('admin.approval.resolve', { id: requestId, approved: true, answer: text });
  if (output !== 'table') printAs(output, reply);
  else print(`Answered ${requestId}.\n`);
}

const FULL_ID_CHARS = 'appr_'.length + 22;

async function find(call: CommandContext['call'], id: string): Promise<Request> {
  const { requests } = await call('admin.approval.pending', {});
  const [found, other] = requests.filter(({ requestId }) => requestId.startsWith(id));
  if (found === undefined) throw new Failure(`No call with the id ${id} waits for approval.`, `${self()} approvals list`);
  if (other !== undefined) throw wrongUsage(`Several waiting calls begin with ${id}.`, `${self()} approvals list`);
  return found;
}

async function watch({ call, output }: CommandContext): Promise<void> {
  let shown = new Set<string>();
  for (;;) {
    const { requests } = await call('admin.approval.pending', {});
    for (const request of requests.filter(({ requestId }) => !shown.has(requestId))) {
      if (output === 'table') print(`${toLine(request).join('  ')}\n`);
      else printAs(output, request);
    }
    shown = new Set(requests.map(({ requestId }) => requestId));
    await sleep(WATCH_INTERVAL_MS);
  }
}
