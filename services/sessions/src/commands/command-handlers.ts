import { SessionLabel } from '@switchyard/contracts';
import { lengthOf } from '../context/conversation-size.ts';
import { summariesOf } from '../context/compaction/summary-builder.ts';
import { coveredTo } from '../context/compaction/summary-tree.ts';
import { loadHistory } from '../sessions/session-directory.ts';
import { preferring, type Answer, type Asked } from './command-context.ts';
import { chooseModel } from './model-command.ts';
import { notInForce, readBudget, type CommandName } from './command-parser.ts';

const LABEL_USAGE = '/label <title> gives it one, /label - takes it away.';

type Answering = (asked: Asked) => Answer | Promise<Answer>;

/** The handler of each command. */
export const answers: Readonly<Record<CommandName, Answering>> = {
  status,
  usage,
  context,
  model: chooseModel,
  new: reset,
  reset,
  budget,
  export: transcript,
  // Running and queued turns were cancelled when this turn was accepted.
  stop: () => ({ text: 'Stopped: nothing that was asked here before this runs or waits any more.' }),
  config: () => ({
    text: 'A conversation neither shows nor changes settings. `switchyard config` and the methods config.* do, for a token with the scope admin.',
  }),
  think: ({ args }) => directive('think', 'off, minimal, low, medium, high or xhigh', args),
  verbose: ({ args }) => directive('verbose', 'on or off', args),
  reasoning: ({ args }) => directive('reasoning', 'on or off', args),
  compact,
  label,
  fork: () => missing('fork'),
  branch: () => missing('branch'),
  skill: () => missing('skill'),
  'export-trajectory': () => missing('export-trajectory'),
};

function missing(name: CommandName): Answer {
  return { text: `/${name} is not there yet.` };
}

function directive(name: CommandName, takes: string, args: string): Answer {
  return { text: args === '' ? `/${name} takes ${takes}. ${notInForce(name)}` : notInForce(name) };
}

function reset(): Answer {
  return { text: 'A new conversation begins here.', effect: { resets: true } };
}

function status({ given: { hold, agent }, model }: Asked): Answer {
  const { key, messageCount, depth } = hold.session;
  const lines = [
    `Agent: ${agent.config.name} (${agent.agentId})`,
    `Model: ${model.provider}/${model.modelId}`,
    `Session: ${key}`,
    `Messages: ${messageCount}`,
    `Waiting behind this: ${depth - 1}`,
    `Steps a turn: at most ${agent.config.maxSteps}`,
  ];
  return { text: lines.join('\n') };
}

function usage({ given: { hold } }: Asked): Answer {
  const { inputTokens, outputTokens, costUsd } = hold.session;
  const total = inputTokens + outputTokens;
  return { text: `Tokens: ${total} (${inputTokens} in, ${outputTokens} out)\nCost: ${costUsd.toFixed(4)} USD` };
}

/** The arguments can contain instructions for the summaries. `verbose` includes the summaries in the response. */
async function compact({ deps, given: { hold, signal }, args }: Asked): Promise<Answer> {
  const verbose = /^verbose(\s|$)/.exec(args)?.[0] ?? '';
  const instructions = args.slice(verbose.length).trim();
  const before = lengthOf(hold.session);
  const asked = { signal, ...(instructions === '' ? {} : { instructions }) };
  const { session, made } = await deps.compaction.compact(hold.tenant, hold.session, asked);
  if (made === 0) return { text: 'There is nothing to make shorter: only the last turns are told word by word.' };
  const after = lengthOf(session);
  const shorter = `Made shorter: about ${before.tokens} tokens are ${after.tokens} now. Everything said stays.`;
  if (verbose === '') return { text: shorter };
  const summaries = await summariesOf(deps, hold.tenant, session.roots ?? []);
  return { text: [shorter, ...summaries.map(({ text }) => text)].join('\n\n') };
}

async function context({ deps, given: { hold, agent } }: Asked): Promise<Answer> {
  const { contextEngine, maxContextChars } = agent.config;
  const { roots = [], lastSeq } = hold.session;
  const known = await deps.recall.last(deps.turns.for(hold), hold, contextEngine.historyTurns);
  const last = roots.length === 0 ? known : known.slice(0, lastSeq - coveredTo(roots));
  const chars = last.reduce((sum, exchange) => sum + exchange.chars, 0);
  const share = Math.round((100 * Math.min(chars, maxContextChars)) / maxContextChars);
  const folded = roots.reduce((sum, { messages }) => sum + messages, 0);
  const earlier = folded === 0 ? '' : ` ${folded} messages before them are told in ${roots.length} summaries.`;
  const told = `The next turn is told of the last ${last.length} exchanges: ${chars} characters, ${share} % of the room for them.`;
  return { text: `${told}${earlier}` };
}

/** Shows, sets or removes the session label. */
function label({ deps, given: { hold }, args }: Asked): Answer {
  const known = hold.session.label;
  if (args === '')
    return { text: known === undefined ? `This session has no label. ${LABEL_USAGE}` : `The label of this session: ${known}` };
  const at = deps.store.now();
  if (args === '-') return { text: 'This session has no label any more.', effect: { label: { at } } };
  const title = SessionLabel.safeParse(args.replace(/[\s\p{Cc}]+/gu, ' ').trim());
  if (!title.success)
    return { text: `A label has at most ${SessionLabel.maxLength} characters, and this one has ${args.length}. ${LABEL_USAGE}` };
  return { text: `This session is labelled: ${title.data}`, effect: { label: { at, text: title.data } } };
}

function budget(asked: Asked): Answer {
  const tokens = readBudget(asked.args);
  if (tokens === undefined) return { text: '/budget takes a number of tokens from 10k to 10m, such as /budget 500k.' };
  return { text: `The next turn may use ${tokens} tokens.`, effect: { preferences: preferring(asked, { budget: tokens }) } };
}

async function transcript({ deps, given: { hold }, args }: Asked): Promise<Answer> {
  const said = await loadHistory(deps, hold, hold.session);
  const lines = said.map(({ role, content, timestamp }) => `**${role}** (${new Date(timestamp).toISOString()})\n\n${content}`);
  const where = args === '' ? [] : [`There is no workspace yet to write ${args} to; this is what it would hold.`];
  return { text: [...where, ...(lines.length === 0 ? ['Nothing was said yet.'] : lines)].join('\n\n') };
}
