import type { Command } from '../arguments/command.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { runChild } from './child-process.ts';
import { self, serverProgram } from '../server/installation.ts';

const FLAGS: readonly [string, string][] = [
  ['--port <port>', 'port; 0 selects a free one. Default: SWITCHYARD_PORT, else 4766'],
  ['--host <address>', 'listen address. Default: SWITCHYARD_HOST, else 127.0.0.1 (this machine only)'],
  ['--data <directory>', 'data directory. Default: SWITCHYARD_DATA, else .switchyard'],
];

export const start: Command = {
  flags: ['port', 'host'],
  help: () =>
    commandHelp(
      'start [--port <port>] [--host <address>] [--data <directory>]',
      'Starts all services in one process. Ctrl-C finishes running turns, then exits.',
      { flags: FLAGS, examples: ['start', 'start --port 0 --data ./second'] },
    ),
  async run({ flags, words }) {
    if (words[0] !== undefined) throw wrongUsage(`start takes no argument ${words[0]}.`, `${self()} start`);
    if (flags['port'] !== undefined && !isPort(flags['port']))
      throw wrongUsage('--port must be a number from 0 to 65535.', `${self()} start --port 0`);
    const program = serverProgram();
    if (program === undefined)
      throw new Failure('This installation contains only the client. Clone the repository to start a server.', 'make start');
    const { port, host, data } = flags;
    return runChild(program, {
      ...process.env,
      ...(port === undefined ? {} : { SWITCHYARD_PORT: port }),
      ...(host === undefined ? {} : { SWITCHYARD_HOST: host }),
      ...(data === undefined ? {} : { SWITCHYARD_DATA: data }),
    });
  },
};

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}
