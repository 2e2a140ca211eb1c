import { cpus, totalmem } from 'node:os';
import { readOptions, USAGE, type Options } from './options.ts';
import { printProfiles } from './profile-run.ts';
import { absoluteTable, outcomeTable } from './report.ts';
import { runAll } from './run-all.ts';

function machine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${processors.length} cores (${processors[0]?.model.trim() ?? 'unknown'}), ${memory} GiB, ${process.platform}, Node ${process.version}`;
}

const progress = (description: string): void => void process.stderr.write(`${description}\n`);

async function main(options: Options): Promise<void> {
  if (options.profile) return printProfiles(options, progress);
  const { outcomes, absolutes, notes } = await runAll(options, progress);
  const { starts, rounds, seconds } = options;
  if (options.json) {
    console.log(JSON.stringify({ machine: machine(), starts, rounds, seconds, outcomes, absolutes, notes }, null, 2));
    return;
  }
  const sections = [
    `${machine()}; ${starts} starts with ${rounds} alternating rounds of ${seconds} s each, ratios paired by round.`,
    outcomeTable(outcomes),
    ...(absolutes.length === 0 ? [] : ['Medians, for this machine and this hour:', absoluteTable(absolutes)]),
    ...notes,
  ];
  console.log(`\n${sections.join('\n\n')}`);
}

let options: Options | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = 2;
}
if (options) await main(options);
