import { EXIT, type Command } from '../arguments/command.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { print, printAs } from '../output/output.ts';

export const url: Command = {
  flags: [],
  help: () =>
    commandHelp('url', 'Prints the address that the other commands use, alone on its line, for commands of your own.', {
      examples: ['url', 'url --data second'],
    }),
  async run({ where, output }) {
    const place = where();
    if (output !== 'table') printAs(output, { url: place.url });
    else print(`${place.url}\n`);
    return EXIT.done;
  },
};
