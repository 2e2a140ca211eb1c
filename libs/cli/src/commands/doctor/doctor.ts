import { checkBrowser } from './browser-check.ts';
import { checkData, checkMediaPrograms, checkNatsServer, checkNode, checkPackages, checkPort, checkTokenFile } from './machine-checks.ts';
import { good, type Check } from './check.ts';
import { checkHealth, checkInside, checkServices, isOurs } from './server-checks.ts';
import { EXIT, type Command } from '../../arguments/command.ts';
import type { Where } from '../../server/server-location.ts';
import { commandHelp } from '../../arguments/command-help.ts';
import { paint, printable, printAs } from '../../output/output.ts';
import { probe } from '../../server/probe.ts';
import { askReadiness } from '../../server/readiness.ts';

export const doctor: Command = {
  flags: [],
  help: () =>
    commandHelp(
      'doctor',
      'Checks this machine, the data directory and the server. Exit code 1 means that a check failed; the remedy follows each failed check.',
      { examples: ['doctor', 'doctor -o json'] },
    ),
  async run({ output, where }) {
    const checks = await examine(where());
    const well = checks.every(({ ok }) => ok !== false);
    if (output !== 'table') printAs(output, { ok: well, checks });
    else process.stdout.write(checks.map(line).join(''));
    return well ? EXIT.done : EXIT.refused;
  },
};

async function examine(where: Where): Promise<Check[]> {
  const health = await probe(where.url, 'health');
  const ours = isOurs(health);
  return [
    checkNode(),
    checkPackages(),
    checkData(where),
    checkTokenFile(where),
    ours ? good('port', `${where.url} is ours`) : await checkPort(where),
    checkHealth(health, where),
    ...(ours ? checkServices(await askReadiness(where), where) : []),
    ...(await checkInside(where, ours)),
    await checkNatsServer(),
    await checkMediaPrograms(),
    await checkBrowser(),
  ];
}

function line({ name, ok, detail, next }: Check): string {
  const mark = ok === undefined ? '·' : ok ? paint('green', '✓', process.stdout) : paint('red', '✗', process.stdout);
  const text = `${name.padEnd(12)} ${detail}\n${next === undefined ? '' : `    next: ${next}\n`}`;
  return `${mark} ${printable(text, process.stdout)}`;
}
