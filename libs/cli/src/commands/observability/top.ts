import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@switchyard/client';
import { print, printAs } from '../../output/output.ts';
import { renderFleet } from './fleet.ts';
import { reportCommand } from './report-command.ts';

const REFRESH_MS = 2_000;
/** Clears the screen and moves the cursor to its start. */
const CLEAR = '\u001b[2J\u001b[H';

export const top = reportCommand({
  name: 'top',
  about: 'Shows the last hour of the fleet, refreshed every two seconds until Ctrl+C. Without a terminal it prints once.',
  switches: [['once', 'prints once']],
  examples: ['top', 'top --once'],
  async run(call, { flags, output }) {
    if (output !== 'table') return printAs(output, await readFleet(call));
    if (flags['once'] !== undefined || !process.stdout.isTTY) return print(renderFleet(await readFleet(call)));
    for (;;) {
      const text = renderFleet(await readFleet(call));
      process.stdout.write(CLEAR);
      print(text);
      await pause(REFRESH_MS);
    }
  },
});

function readFleet(call: Client['call']) {
  return call('obs.fleet.health', { sinceHours: 1 });
}
