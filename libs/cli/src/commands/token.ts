import { EXIT, type Command } from '../arguments/command.ts';
import { createNoTokenFailure, savedToken } from '../server/server-location.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { print, printAs } from '../output/output.ts';

export const token: Command = {
  flags: [],
  help: () =>
    commandHelp('token', 'Prints the token that the other commands use, alone on its line.', {
      examples: ['token', 'token >~/.switchyard-token   # a secret with all permissions'],
    }),
  async run({ where, output }) {
    const place = where();
    const found = place.token ?? (place.withheld === 'saved' ? savedToken(place.data) : undefined); // printing does not send it to a server
    if (found === undefined) throw createNoTokenFailure(place);
    if (output !== 'table') printAs(output, { token: found });
    else print(`${found}\n`);
    return EXIT.done;
  },
};
