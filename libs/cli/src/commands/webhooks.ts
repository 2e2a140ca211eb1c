import { sections, type Sections } from '@switchyard/contracts';
import { commandHelp } from '../arguments/command-help.ts';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect } from '../server/server-location.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { columns, print, printAs, remark } from '../output/output.ts';
import { readParams } from '../arguments/params.ts';
import { parseJson } from '../output/json-values.ts';
import { self } from '../server/installation.ts';
import { signedHeaders } from './webhook-signature.ts';

type Webhooks = Sections['webhooks'];
type Mapping = Webhooks['mappings'][number];

/** The variable with the signing key. A command line argument would be visible in process lists. */
const KEY = 'SWITCHYARD_WEBHOOK_KEY';
const PATIENCE_MS = 30_000;

export const webhooks: Command = {
  flags: ['params'],
  help: () =>
    commandHelp(
      'webhooks list|test <path> [key=value …]',
      [
        'Lists webhook mappings and sends a test delivery.',
        '',
        '  list                     lists the mappings in the order in which they are matched',
        `  test <path> [key=value]  sends a delivery, signed with the key in ${KEY} if it is set`,
      ].join('\n'),
      {
        flags: [['--params <json>', 'test: body; - reads it from standard input']],
        examples: ['webhooks list', 'webhooks test ci branch=main state=broken'],
      },
    ),
  async run(invocation) {
    const [verb = 'list', ...rest] = invocation.words;
    const act = verb === 'list' ? list : verb === 'test' ? test : undefined;
    if (act === undefined) throw wrongUsage(`webhooks has no subcommand ${verb}. Subcommands: list, test.`, `${self()} webhooks --help`);
    return act(rest, invocation);
  },
};

async function configured({ where }: Invocation): Promise<Webhooks> {
  const client = await connect(where());
  try {
    const read = sections.webhooks.safeParse(await client.call('config.read', { section: 'webhooks' }));
    if (!read.success)
      throw new Failure(
        'This command does not understand the webhook configuration of the server.',
        `${self()} rpc config.read section=webhooks`,
      );
    return read.data;
  } finally {
    client.close();
  }
}

async function list(rest: readonly string[], invocation: Invocation): Promise<number> {
  if (rest.length > 0) throw wrongUsage('webhooks list takes no arguments.', `${self()} webhooks --help`);
  const found = await configured(invocation);
  if (invocation.output !== 'table') printAs(invocation.output, found);
  else {
    const { url } = invocation.where();
    const all = [
      ...found.mappings.map((mapping) => described(mapping, found, url)),
      ...found.presets.map((name) => preset(name, found, url)),
    ];
    if (all.length === 0) remark('No mappings and no presets are configured.');
    else print(columns(all));
    if (!found.enabled) remark(`Webhooks are disabled. Enable them: ${self()} config set webhooks.enabled true`);
  }
  return EXIT.done;
}

function described({ id, name, match, action, agentId, secret }: Mapping, all: Webhooks, url: string): string[] {
  const path = getAddress(all, match?.path ?? '*', url);
  const signed = secret === undefined ? commonKey(all) : 'signed with a key of its own';
  const source = match?.source === undefined ? '' : `from ${match.source}`;
  return [path, id ?? name ?? '', action === 'wake' ? 'wakes' : `agent ${agentId ?? 'default'}`, signed, source];
}

function preset(name: string, all: Webhooks, url: string): string[] {
  return [getAddress(all, name, url), name, 'agent default', commonKey(all), 'a preset'];
}

function commonKey({ token }: Webhooks): string {
  return token === undefined ? 'unsigned' : 'signed with webhooks.token';
}

function getAddress({ path }: Webhooks, below: string, url: string): string {
  return `${url.replace(/\/$/, '')}${path.replace(/\/$/, '')}/${below.replaceAll(/^\/+|\/+$/g, '')}`;
}

async function test([path, ...words]: readonly string[], invocation: Invocation): Promise<number> {
  if (path === undefined || path.includes('=')) throw wrongUsage('webhooks test needs the path of a mapping.', `${self()} webhooks list`);
  const found = await configured(invocation);
  const options = readParams(invocation.flags['params'], words);
  // A repeated body is treated as a duplicate and starts nothing, so the default body has a timestamp.
  const body = JSON.stringify(Object.keys(options).length > 0 ? options : { test: true, at: new Date().toISOString() });
  const key = process.env[KEY];
  const target = getAddress(found, path, invocation.where().url);
  const headers = key ? signedHeaders(key, { body, path, webhooks: found, now: Date.now() }) : {};
  if (!key) remark(`The delivery is not signed, because ${KEY} is not set.`);
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const text = await response.text();
  if (!response.ok) throw refused(target, response.status, text);
  const repeated = response.headers.get('idempotency-replayed') === 'true';
  if (invocation.output !== 'table')
    printAs(invocation.output, { url: target, status: response.status, repeated, answer: parseJson(text) ?? text });
  else print(`${target} accepted the delivery${repeated ? ' as a repetition' : ''}: ${text}\n`);
  return EXIT.done;
}

function refused(target: string, status: number, text: string): Failure {
  const answer = parseJson(text) as { error?: unknown } | undefined;
  const errorText = typeof answer?.error === 'string' ? answer.error : text.slice(0, 200);
  const next = status === 401 ? `read -rs ${KEY} && export ${KEY}` : `${self()} webhooks list`;
  return new Failure(`${target} refused the delivery with status ${status}: ${errorText}`, next);
}
