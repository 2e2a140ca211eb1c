import type { Command } from './arguments/command.ts';

interface Entry {
  usage: string;
  summary: string;
  /** Loads the module when the command runs. Most commands do not need all dependencies. */
  load(): Promise<Command>;
}

export const commands = {
  start: {
    usage: 'start',
    summary: 'starts all services in one process on this machine',
    load: async () => (await import('./commands/start.ts')).start,
  },
  ask: {
    usage: 'ask "<message>"',
    summary: 'sends a message to an agent and streams the answer',
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  dashboard: {
    usage: 'dashboard',
    summary: 'prints a link that opens the dashboard signed in',
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  cancel: {
    usage: 'cancel [turn]',
    summary: 'cancels your running and queued turns',
    load: async () => (await import('./commands/cancel.ts')).cancel,
  },
  rpc: {
    usage: 'rpc <method> [key=value …]',
    summary: 'calls any RPC method; rpc --help lists them',
    load: async () => (await import('./commands/rpc.ts')).rpc,
  },
  sessions: {
    usage: 'sessions <what> …',
    summary: 'lists, shows, searches, compacts, resets and deletes sessions',
    load: async () => (await import('./commands/sessions/sessions.ts')).sessions,
  },
  memory: {
    usage: 'memory <what> …',
    summary: 'lists, searches, adds and deletes memories of agents',
    load: async () => (await import('./commands/memory/memory.ts')).memory,
  },
  agents: {
    usage: 'agents <what> …',
    summary: 'lists, creates, updates and deletes agents',
    load: async () => (await import('./commands/agents/agents.ts')).agents,
  },
  skills: {
    usage: 'skills <what> …',
    summary: 'lists, creates, uploads, imports and deletes skills of agents',
    load: async () => (await import('./commands/skills/skills.ts')).skills,
  },
  cron: {
    usage: 'cron <what> …',
    summary: 'lists, adds, pauses and runs scheduled jobs',
    load: async () => (await import('./commands/cron/cron.ts')).cron,
  },
  graph: {
    usage: 'graph <what> …',
    summary: 'runs graphs of tasks, shows, resumes and cancels them',
    load: async () => (await import('./commands/graph/graph.ts')).graph,
  },
  approvals: {
    usage: 'approvals [what] …',
    summary: 'lists and answers tool calls that wait for approval',
    load: async () => (await import('./commands/approvals/approvals.ts')).approvals,
  },
  runs: {
    usage: 'runs [what] …',
    summary: 'shows, steers and kills runs of sub-agents',
    load: async () => (await import('./commands/runs/runs.ts')).runs,
  },
  heartbeat: {
    usage: 'heartbeat <what> …',
    summary: 'lists, triggers and changes heartbeats of agents',
    load: async () => (await import('./commands/heartbeat/heartbeat.ts')).heartbeat,
  },
  wake: {
    usage: 'wake',
    summary: 'runs the heartbeats of all agents now',
    load: async () => (await import('./commands/heartbeat/heartbeat.ts')).wake,
  },
  media: {
    usage: 'media <what> …',
    summary: 'transcribes, describes, extracts and speaks files',
    load: async () => (await import('./commands/media/media.ts')).media,
  },
  browser: {
    usage: 'browser <what> …',
    summary: 'opens pages, shows them as text or image, lists tabs',
    load: async () => (await import('./commands/browser/browser.ts')).browser,
  },
  models: {
    usage: 'models <what> …',
    summary: 'lists models, tests one, assigns one to an agent',
    load: async () => (await import('./commands/models.ts')).models,
  },
  config: {
    usage: 'config <what> …',
    summary: 'shows, changes, validates and rolls back the configuration',
    load: async () => (await import('./commands/config/config.ts')).config,
  },
  tokens: {
    usage: 'tokens <what> …',
    summary: 'lists, creates, rotates and revokes access tokens',
    load: async () => (await import('./commands/tokens/tokens.ts')).tokens,
  },
  secrets: {
    usage: 'secrets <what> …',
    summary: 'lists the names of stored secrets and sets a value',
    load: async () => (await import('./commands/secrets.ts')).secrets,
  },
  env: {
    usage: 'env <what> …',
    summary: 'alias of secrets, named like its RPC methods',
    load: async () => (await import('./commands/secrets.ts')).env,
  },
  audit: {
    usage: 'audit <what> …',
    summary: 'shows the audit log and verifies its integrity',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  logs: {
    usage: 'logs <what> …',
    summary: 'shows local log lines and sets log levels of a running server',
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  webhooks: {
    usage: 'webhooks list|test …',
    summary: 'lists webhook mappings and sends a test delivery',
    load: async () => (await import('./commands/webhooks.ts')).webhooks,
  },
  token: {
    usage: 'token',
    summary: 'prints only the access token',
    load: async () => (await import('./commands/token.ts')).token,
  },
  url: {
    usage: 'url [--openai]',
    summary: 'prints only the address of the server',
    load: async () => (await import('./commands/url.ts')).url,
  },
  status: {
    usage: 'status',
    summary: 'shows the state of the server and its services',
    load: async () => (await import('./commands/status.ts')).status,
  },
  services: {
    usage: 'services [name]',
    summary: 'lists service replicas and their request counts',
    load: async () => (await import('./commands/services.ts')).services,
  },
  explain: {
    usage: 'explain <turn or session>',
    summary: 'explains why a turn failed',
    load: async () => (await import('./commands/observability/explain.ts')).explain,
  },
  fleet: {
    usage: 'fleet',
    summary: 'reports how all sessions ended and what changed before',
    load: async () => (await import('./commands/observability/fleet.ts')).fleet,
  },
  trace: {
    usage: 'trace',
    summary: 'searches recorded turns',
    load: async () => (await import('./commands/observability/trace.ts')).trace,
  },
  cost: {
    usage: 'cost',
    summary: 'shows usage and cost by provider and model',
    load: async () => (await import('./commands/observability/cost.ts')).cost,
  },
  replay: {
    usage: 'replay <dir>',
    summary: 'replays recorded turns and reports differences',
    load: async () => (await import('./commands/observability/replay.ts')).replay,
  },
  bundle: {
    usage: 'bundle <turn or session>',
    summary: 'writes the evidence of an incident to a folder',
    load: async () => (await import('./commands/observability/bundle.ts')).bundle,
  },
  observations: {
    usage: 'observations [reset]',
    summary: 'counts and deletes stored observations',
    load: async () => (await import('./commands/observability/observations.ts')).observations,
  },
  top: {
    usage: 'top',
    summary: 'shows the last hour of the fleet, live',
    load: async () => (await import('./commands/observability/top.ts')).top,
  },
  doctor: {
    usage: 'doctor',
    summary: 'finds problems of this installation and names the remedy',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  completion: {
    usage: 'completion bash|zsh|fish',
    summary: 'prints a completion script for your shell',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
} satisfies Record<string, Entry>;

export function isCommand(name: string): name is keyof typeof commands {
  return Object.hasOwn(commands, name);
}
