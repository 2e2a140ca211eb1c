import { EXIT, type Command } from '../arguments/command.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { print, printAs } from '../output/output.ts';

export const url: Command = {
  flags: [],
  switches: ['openai'],
  help: () =>
    commandHelp('url', 'Prints the address that the other commands use, alone on its line, for commands of your own.', {
      flags: [['--openai', 'base URL for OpenAI clients']],
      examples: ['url', 'url --openai', 'url --data second'],
    }),
  async run({ where, output, flags }) {
    const { url: server } = where();
    const address = flags['openai'] === undefined ? server : `${server.replace(/\/$/, '')}/openai/v1`;
    if (output !== 'table') printAs(output, { url: address });
    else print(`${address}\n`);
    return EXIT.done;
  },
};
