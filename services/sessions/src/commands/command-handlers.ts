import { SessionLabel } from '@switchyard/contracts';
import { getLength } from '../context/conversation-size.ts';
import { getSummaries } from '../context/compaction/summary-builder.ts';
import { coveredTo } from '../context/compaction/summary-tree.ts';
import { CONVERSATION_BYTES } from '../sessions/load-budget.ts';
import { loadHistory } from '../sessions/session-directory.ts';
import { preferring, type Answer, type CommandRequest } from './command-context.ts';
import { chooseModel } from './model-command.ts';
import { notInForce, readBudget, type CommandName } from './command-parser.ts';

const LABEL_USAGE = '/label <title> sets the label, /label - removes it.';

type CommandHandler = (request: CommandRequest) => Answer | Promise<Answer>;

/** The handler of each command. */
export const answers: Readonly<Record<CommandName, CommandHandler>> = {
  status,
  usage,
  context,
  model: chooseModel,
  new: reset,
  reset,
  budget,
  export: transcript,
  // Running and queued turns were cancelled when this turn was accepted.
  stop: () => ({ text: 'Stopped. All earlier messages of this session were cancelled.' }),
  // Answered on arrival (turns/acceptance/control-message.ts).
  approve: () => missing('approve'),
  deny: () => missing('deny'),
  answer: () => missing('answer'),
  config: () => ({
    text: 'Settings cannot be shown or changed in a conversation. Use `switchyard config` or the methods config.* with a token of scope admin.',
  }),
  think: ({ args }) => directive('think', 'off, minimal, low, medium, high or xhigh', args),
  verbose: ({ args }) => directive('verbose', 'on or off', args),
  reasoning: ({ args }) => directive('reasoning', 'on or off', args),
  compact,
  label,
  fork: () => missing('fork'),
  branch: () => missing('branch'),
  'export-trajectory': () => missing('export-trajectory'),
};

function missing(name: CommandName): Answer {
  return { text: `/${name} is not implemented yet.` };
}

function directive(name: CommandName, takes: string, args: string): Answer {
  return { text: args === '' ? `/${name} takes ${takes}. ${notInForce(name)}` : notInForce(name) };
}

function reset(): Answer {
  return { text: 'Started a new conversation.', effect: { resets: true } };
}

function status({ options: { hold, agent }, model }: CommandRequest): Answer {
  const { key, messageCount, depth } = hold.session;
  const lines = [
    `Agent: ${agent.config.name} (${agent.agentId})`,
    `Model: ${model.provider}/${model.modelId}`,
    `Session: ${key}`,
    `Messages: ${messageCount}`,
    `Queued messages: ${depth - 1}`,
    `Maximum steps per turn: ${agent.config.maxSteps}`,
  ];
  return { text: lines.join('\n') };
}

function usage({ options: { hold } }: CommandRequest): Answer {
  const { inputTokens, outputTokens, costUsd } = hold.session;
  const total = inputTokens + outputTokens;
  return { text: `Tokens: ${total} (${inputTokens} in, ${outputTokens} out)\nCost: ${costUsd.toFixed(4)} USD` };
}

/** The arguments can contain instructions for the summaries. `verbose` includes the summaries in the response. */
async function compact({ deps, options: { hold, signal }, args }: CommandRequest): Promise<Answer> {
  const verbose = /^verbose(\s|$)/.exec(args)?.[0] ?? '';
  const instructions = args.slice(verbose.length).trim();
  const before = getLength(hold.session);
  const compactOptions = { signal, ...(instructions === '' ? {} : { instructions }) };
  const { session, made } = await deps.compaction.compact(hold.tenant, hold.session, compactOptions);
  if (made === 0) return { text: 'Nothing to compact: only the most recent turns are not summarized.' };
  const after = getLength(session);
  const shorter = `Compacted from about ${before.tokens} to ${after.tokens} tokens. No message was deleted.`;
  if (verbose === '') return { text: shorter };
  const summaries = await getSummaries(deps, hold.tenant, session.roots ?? []);
  return { text: [shorter, ...summaries.map(({ text }) => text)].join('\n\n') };
}

async function context({ deps, options: { hold, agent } }: CommandRequest): Promise<Answer> {
  const { contextEngine, maxContextChars } = agent.config;
  const { roots = [], lastSeq } = hold.session;
  const known = await deps.recall.last(deps.turns.for(hold), hold, contextEngine.historyTurns);
  const last = roots.length === 0 ? known : known.slice(0, lastSeq - coveredTo(roots));
  const chars = last.reduce((sum, exchange) => sum + exchange.chars, 0);
  const share = Math.round((100 * Math.min(chars, maxContextChars)) / maxContextChars);
  const folded = roots.reduce((sum, { messages }) => sum + messages, 0);
  const earlier = folded === 0 ? '' : ` ${roots.length} summaries replace ${folded} earlier messages.`;
  const promptText = `The context of the next turn contains the last ${last.length} exchanges: ${chars} characters, ${share} % of the history limit.`;
  return { text: `${promptText}${earlier}` };
}

/** Shows, sets or removes the session label. */
function label({ deps, options: { hold }, args }: CommandRequest): Answer {
  const known = hold.session.label;
  if (args === '') return { text: known === undefined ? `This session has no label. ${LABEL_USAGE}` : `Label of this session: ${known}` };
  const at = deps.store.now();
  if (args === '-') return { text: 'Removed the label of this session.', effect: { label: { at } } };
  const title = SessionLabel.safeParse(args.replace(/[\s\p{Cc}]+/gu, ' ').trim());
  if (!title.success)
    return { text: `A label has at most ${SessionLabel.maxLength} characters; this one has ${args.length}. ${LABEL_USAGE}` };
  return { text: `Label of this session: ${title.data}`, effect: { label: { at, text: title.data } } };
}

function budget(command: CommandRequest): Answer {
  const tokens = readBudget(command.args);
  if (tokens === undefined) return { text: '/budget needs a number of tokens from 10k to 10m, such as /budget 500k.' };
  return { text: `The next turn may use ${tokens} tokens.`, effect: { preferences: preferring(command, { budget: tokens }) } };
}

async function transcript({ deps, options: { hold, signal }, args }: CommandRequest): Promise<Answer> {
  const { createdBy, userId } = hold.session;
  using _held = await deps.loads?.take({ tenant: hold.tenant, client: createdBy ?? userId }, CONVERSATION_BYTES, signal);
  const texts = await loadHistory(deps, hold, hold.session);
  const lines = texts.map(({ role, content, timestamp }) => `**${role}** (${new Date(timestamp).toISOString()})\n\n${content}`);
  const where = args === '' ? [] : [`Workspaces are not implemented yet. The file ${args} would contain:`];
  return { text: [...where, ...(lines.length === 0 ? ['This conversation is still empty.'] : lines)].join('\n\n') };
}
