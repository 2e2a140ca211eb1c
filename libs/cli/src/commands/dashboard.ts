import { EXIT, type Command } from '../arguments/command.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { print, printAs } from '../output/output.ts';
import { Failure } from '../output/failure.ts';
import { createNoTokenFailure } from '../server/server-location.ts';
import { self } from '../server/installation.ts';

const TIMEOUT_MS = 10_000;

export const dashboard: Command = {
  flags: [],
  help: () =>
    commandHelp(
      'dashboard',
      'Prints a link that opens the dashboard signed in, alone on its line. The link works once, within one minute.',
      {
        examples: ['dashboard', 'xdg-open "$(switchyard dashboard)"'],
      },
    ),
  async run({ where, output }) {
    const place = where();
    if (place.token === undefined) throw createNoTokenFailure(place);
    const base = place.url.endsWith('/') ? place.url : `${place.url}/`;
    const response = await fetch(new URL('api/tickets', base), {
      method: 'POST',
      headers: { authorization: `Bearer ${place.token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new Failure(`The server at ${place.url} does not answer.`, `${self()} status`, { cause });
    });
    if (!response.ok) throw new Failure(`The server at ${place.url} issued no ticket: HTTP ${response.status}.`, `${self()} doctor`);
    const { ticket } = (await response.json()) as { ticket: string };
    // A browser does not send the fragment of an address, so no log contains the ticket.
    const link = new URL(`app/#ticket=${ticket}`, base).href;
    if (output === 'table') print(`${link}\n`);
    else printAs(output, { url: link });
    return EXIT.done;
  },
};
