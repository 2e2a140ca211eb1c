import type { Command } from './command.ts';

interface Entry {
  usage: string;
  summary: string;
  /** Loaded when it is run: `token` has no need of a client. */
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
  audit: {
    usage: 'audit list|verify',
    summary: 'shows what was done, and checks that the record of it is whole',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  config: {
    usage: 'config <what> …',
    summary: 'looks at the configuration, changes it while everything runs, and goes back',
    load: async () => (await import('./commands/config.ts')).config,
  },
  env: {
    usage: 'env list|set …',
    summary: 'shows which secrets are set, and sets one',
    load: async () => (await import('./commands/env.ts')).env,
  },
  logs: {
    usage: 'logs level <level> [module]',
    summary: 'sets how much a running server logs, until the next start',
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  memory: {
    usage: 'memory list|search|show|forget|export',
    summary: 'shows what agents remember, and forgets it',
    load: async () => (await import('./commands/memory.ts')).memory,
  },
  sessions: {
    usage: 'sessions search|reset|compact',
    summary: 'finds conversations by what was said in them, clears them, makes them shorter',
    load: async () => (await import('./commands/sessions.ts')).sessions,
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
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
} satisfies Record<string, Entry>;

export function isCommand(name: string): name is keyof typeof commands {
  return Object.hasOwn(commands, name);
}
