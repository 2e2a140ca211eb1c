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
    summary: 'starts everything in one process, on this machine',
    load: async () => (await import('./commands/start.ts')).start,
  },
  ask: {
    usage: 'ask "<message>"',
    summary: 'asks an agent and prints the answer as it is written',
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  cancel: {
    usage: 'cancel [turn]',
    summary: 'ends turns of yours that run or wait',
    load: async () => (await import('./commands/cancel.ts')).cancel,
  },
  rpc: {
    usage: 'rpc <method> [key=value …]',
    summary: 'makes any call; rpc --help lists them',
    load: async () => (await import('./commands/rpc.ts')).rpc,
  },
  sessions: {
    usage: 'sessions <what> …',
    summary: 'shows conversations and what a model is told of them, searches, clears and forgets them',
    load: async () => (await import('./commands/sessions/sessions.ts')).sessions,
  },
  memory: {
    usage: 'memory <what> …',
    summary: 'shows what agents remember, adds to it, and forgets it',
    load: async () => (await import('./commands/memory/memory.ts')).memory,
  },
  agents: {
    usage: 'agents <what> …',
    summary: 'shows agents, makes them and changes them',
    load: async () => (await import('./commands/agents/agents.ts')).agents,
  },
  models: {
    usage: 'models <what> …',
    summary: 'shows which models there are, tries one, gives one to an agent',
    load: async () => (await import('./commands/models.ts')).models,
  },
  config: {
    usage: 'config <what> …',
    summary: 'looks at the configuration, changes it while everything runs, and goes back',
    load: async () => (await import('./commands/config/config.ts')).config,
  },
  tokens: {
    usage: 'tokens <what> …',
    summary: 'shows who may do what, lets somebody in, and ends it',
    load: async () => (await import('./commands/tokens/tokens.ts')).tokens,
  },
  secrets: {
    usage: 'secrets <what> …',
    summary: 'shows which secrets are set, and sets one',
    load: async () => (await import('./commands/secrets.ts')).secrets,
  },
  env: {
    usage: 'env <what> …',
    summary: 'the same as secrets, under the name of its methods',
    load: async () => (await import('./commands/secrets.ts')).env,
  },
  audit: {
    usage: 'audit <what> …',
    summary: 'shows what was done, and checks that the record of it is whole',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  logs: {
    usage: 'logs <what> …',
    summary: 'shows what is logged here, and sets how much a running server logs',
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  webhooks: {
    usage: 'webhooks list|test …',
    summary: 'shows what other systems may send, and sends what one of them would',
    load: async () => (await import('./commands/webhooks.ts')).webhooks,
  },
  token: {
    usage: 'token',
    summary: 'prints the token, and nothing else',
    load: async () => (await import('./commands/token.ts')).token,
  },
  url: {
    usage: 'url',
    summary: 'prints where the server is, and nothing else',
    load: async () => (await import('./commands/url.ts')).url,
  },
  status: {
    usage: 'status',
    summary: 'says what runs, and whether it is ready',
    load: async () => (await import('./commands/status.ts')).status,
  },
  services: {
    usage: 'services [name]',
    summary: 'asks the services who is there, and what they were asked',
    load: async () => (await import('./commands/services.ts')).services,
  },
  doctor: {
    usage: 'doctor',
    summary: 'looks for what is wrong here, and says what to do',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  completion: {
    usage: 'completion bash|zsh|fish',
    summary: 'prints what teaches a shell to complete all this',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
} satisfies Record<string, Entry>;

export function isCommand(name: string): name is keyof typeof commands {
  return Object.hasOwn(commands, name);
}
