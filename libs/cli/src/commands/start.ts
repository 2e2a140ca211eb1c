import type { Command } from '../arguments/command.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { runChild } from './child-process.ts';
import { self, serverProgram } from '../server/installation.ts';

const FLAGS: readonly [string, string][] = [
  ['--port <port>', 'where to listen; 0 takes any free one. Else SWITCHYARD_PORT, else 4766'],
  ['--host <address>', 'on which address. Else SWITCHYARD_HOST, else 127.0.0.1: this machine alone'],
  ['--data <directory>', 'what is kept, and where. Else SWITCHYARD_DATA, else .switchyard'],
];

export const start: Command = {
  flags: ['port', 'host'],
  help: () =>
    commandHelp(
      'start [--port <port>] [--host <address>] [--data <directory>]',
      'Starts all services in one process and stays. Ctrl-C finishes what runs, then ends.',
      { flags: FLAGS, examples: ['start', 'start --port 0 --data ./second'] },
    ),
  async run({ flags, words }) {
    if (words[0] !== undefined) throw wrongUsage(`start takes no ${words[0]}.`, `${self()} start`);
    if (flags['port'] !== undefined && !isPort(flags['port']))
      throw wrongUsage('--port is a number from 0 to 65535.', `${self()} start --port 0`);
    const program = serverProgram();
    if (program === undefined)
      throw new Failure('There is no server in this installation; a checkout of the repository has one.', 'make start');
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
