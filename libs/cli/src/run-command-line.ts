import { readFileSync } from 'node:fs';
import { getOutput, parse, splitCommand } from './arguments/arguments.ts';
import { presentCertificate } from './server/client-certificate.ts';
import { closest } from './arguments/similar-names.ts';
import { EXIT, type Invocation } from './arguments/command.ts';
import { commands, isCommand } from './commands.ts';
import { locate, type Where } from './server/server-location.ts';
import { explain, isRpcError } from './server/rpc-failure.ts';
import { asFailure, wrongUsage } from './output/failure.ts';
import { generalHelp, shortHelp } from './help.ts';
import { OUTPUTS, print, printFailure } from './output/output.ts';
import { self } from './server/installation.ts';

const NO_FLAGS = { flags: [] };

/** Runs the command line and returns the exit code. Errors are printed and never thrown. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    const { name, rest } = splitCommand(args);
    return name === undefined ? withoutCommand(rest) : await runNamed(name, rest);
  } catch (error) {
    const failure = asFailure(error, `${self()} ${args.includes('doctor') ? 'status' : 'doctor'}`);
    printFailure(failure, getOutput(args));
    return failure.exitCode;
  }
}

function withoutCommand(args: readonly string[]): number {
  const { help, version } = parse(args, NO_FLAGS, '');
  print(version ? `switchyard ${ownVersion()}\n` : help ? generalHelp() : shortHelp());
  return EXIT.done;
}

async function runNamed(name: string, rest: readonly string[]): Promise<number> {
  if (name === 'help') return runHelp(rest);
  if (!isCommand(name)) {
    const similarNames = closest(name, [...Object.keys(commands), 'help']);
    const sentence = `Unknown command ${name}.${similarNames.length === 0 ? '' : ` Did you mean ${similarNames.join(' or ')}?`}`;
    throw wrongUsage(sentence, similarNames[0] === undefined ? `${self()} help` : `${self()} ${similarNames[0]}`);
  }
  const command = await commands[name].load();
  const { flags, words, help, version } = parse(rest, command, name);
  if (version) return withoutCommand(['--version']);
  let place: Where | undefined;
  const invocation: Invocation = {
    flags,
    words,
    output: OUTPUTS.find((form) => form === flags['output']) ?? 'table',
    where: () => (place ??= locate(flags)),
    suggest: async (typed) => (await import('./shell-suggestions.ts')).suggest(typed),
  };
  if (help) {
    print(await command.help(invocation));
    return EXIT.done;
  }
  await presentCertificate();
  try {
    return await command.run(invocation);
  } catch (error) {
    throw isRpcError(error) ? explain(error, invocation.where(), `${self()} ${name} --help`) : error;
  }
}

async function runHelp(args: readonly string[]): Promise<number> {
  const [about, ...more] = parse(args, NO_FLAGS, 'help').words;
  if (about !== undefined) return runNamed(about, [...more, '--help']);
  print(generalHelp());
  return EXIT.done;
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return version;
}
