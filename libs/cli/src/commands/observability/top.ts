import type { Client } from '@switchyard/client';
import { EXIT } from '../../arguments/command.ts';
import { showFrames } from '../../output/live-screen.ts';
import { print, printAs } from '../../output/output.ts';
import { renderFleet } from './fleet.ts';
import { reportCommand } from './report-command.ts';

const REFRESH_MS = 2_000;

export const top = reportCommand({
  name: 'top',
  about: 'Shows the last hour of the fleet, refreshed every two seconds until q or Ctrl-C. Without a terminal it prints once.',
  switches: [['once', 'prints once']],
  examples: ['top', 'top --once'],
  async run(call, { flags, output }) {
    if (output !== 'table') return printAs(output, await readFleet(call));
    const renderFrame = async (): Promise<string> => renderFleet(await readFleet(call));
    if (flags['once'] !== undefined || !process.stdout.isTTY) return print(await renderFrame());
    return (await showFrames(renderFrame, REFRESH_MS)) ? EXIT.interrupted : EXIT.done;
  },
});

function readFleet(call: Client['call']) {
  return call('obs.fleet.health', { sinceHours: 1 });
}
