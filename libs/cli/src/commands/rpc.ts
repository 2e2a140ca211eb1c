import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect, type Where } from '../server/server-location.ts';
import { explain, isRpcError } from '../server/rpc-failure.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { methodHelp, methodList, methodNames, similarMethods, whyNotServed } from './method-help.ts';
import { print, printAs } from '../output/output.ts';
import { readParams } from '../arguments/params.ts';
import { quote, self } from '../server/installation.ts';

const METHOD_NOT_FOUND = -32601;

const FLAGS: readonly [string, string][] = [['--params <json>', 'the params as one JSON object; - reads it from standard input']];

const ABOUT = [
  'Calls an RPC method and prints the result as JSON.',
  `A value is JSON if it parses as JSON, else a string: count=3 is a number, text='"3"' is a string. Dots separate nested keys: sessionKey.userId=alice.`,
].join('\n');

/** Method names are checked by the server only, which may be newer than the CLI. */
type AnyCall = (method: string, params: object) => Promise<unknown>;

export const rpc: Command = {
  flags: ['params'],
  help,
  suggest: async (words) => ({ words: words.length === 0 ? await methodNames() : [] }),
  async run({ flags, words, output, where }) {
    const [method, ...pairs] = words;
    if (method === undefined) throw wrongUsage('rpc needs a method.', `${self()} rpc --help`);
    if (method.includes('=')) throw wrongUsage(`Write the method before its params: ${method} is not a method.`, `${self()} rpc --help`);
    const params = readParams(flags['params'], pairs);
    const client = await connect(where());
    try {
      const result = await (client.call as AnyCall)(method, params);
      const compact = output === 'json' && !process.stdout.isTTY;
      if (compact) print(`${JSON.stringify(result)}\n`);
      else printAs(output === 'table' ? 'json' : output, result);
      return EXIT.done;
    } catch (error) {
      throw isRpcError(error) ? await explainCall(error, method, where()) : error;
    } finally {
      client.close();
    }
  },
};

type CallError = Parameters<typeof explain>[0];

async function explainCall(error: CallError, method: string, where: Where): Promise<Failure> {
  const failure = explain(error, where, `${self()} rpc ${quote(method)} --help`);
  const options = { detail: failure.detail, cause: error };
  const missing = mayBeMissing(error) ? await whyNotServed(method) : undefined;
  if (missing !== undefined) return new Failure(`${method} is not available: ${missing}.`, `${self()} rpc --help`, options);
  return error.code === METHOD_NOT_FOUND ? createUnknownMethodError(method, options) : failure;
}

/** Returns whether the method may be unserved. A newer server may serve methods that the CLI lists as unserved. */
function mayBeMissing({ data }: CallError): boolean {
  return data.code === 'UNIMPLEMENTED' || (data.code === 'UNAVAILABLE' && data.reason !== 'CONNECTION_LOST');
}

async function createUnknownMethodError(method: string, options: ConstructorParameters<typeof Failure>[2]): Promise<Failure> {
  const similar = (await similarMethods(method)).filter((name) => name !== method);
  const suggestion = similar.length === 0 ? '.' : `. Did you mean ${similar.join(' or ')}?`;
  return new Failure(`Unknown method ${method}${suggestion}`, `${self()} rpc ${similar[0] ?? ''} --help`.replace('  ', ' '), options);
}

async function help({ words: [method] }: Invocation): Promise<string> {
  if (method === undefined) {
    const usage = commandHelp('rpc <method> [key=value …] [--params <json>]', ABOUT, {
      flags: FLAGS,
      examples: [
        'rpc system.ping',
        'rpc agent.execute message="hello" sessionKey.userId=alice',
        'rpc agent.execute --help     # describes a method',
      ],
    });
    return `${usage}\n${await methodList()}`;
  }
  const text = await methodHelp(method);
  if (text === undefined) throw await createUnknownMethodError(method, { exitCode: 2 });
  return text;
}
