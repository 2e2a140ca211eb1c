import { wrongUsage } from '../failure.ts';
import { print, printJson, remark } from '../output.ts';
import { parseJson } from '../run-file.ts';
import { self } from '../self.ts';
import { ROOT_KEYS } from './config-views.ts';
import type { Verb } from './config-verb.ts';

const SHORT = 12;

export const changeKey: Verb = async (client, [path = '', text = ''], { flags, output }) => {
  const value = parseJson(text) ?? (text === 'null' ? null : text);
  const [section = '', ...keys] = path.split('.');
  if (ROOT_KEYS.has(path)) {
    const answer = await client.call('config.patch', { [path]: value, ...optionsOf(flags) });
    if (output === 'json') printJson(answer);
    else if ('patched' in answer) print(`${path} is ${JSON.stringify(value)}: version ${answer.commitSha?.slice(0, SHORT) ?? ''}\n`);
    return;
  }
  if (keys.length === 0) throw wrongUsage(`${path} is a section; set takes a key of it.`, `${self()} config get ${path}`);
  const answer = await client.call('config.set', { section, key: keys.join('.'), value, ...optionsOf(flags) });
  if (output === 'json') return printJson(answer);
  if (!('ok' in answer)) return;
  const previous = answer.previous === undefined ? '' : `, and was ${JSON.stringify(answer.previous)}`;
  print(
    `${path} is ${value === null ? 'what it was without' : JSON.stringify(value)}${previous}: version ${answer.commitSha?.slice(0, SHORT) ?? ''}\n`,
  );
  for (const unread of answer.notInForce ?? []) remark(`Nothing reads ${unread} yet.`);
};

export const goBack: Verb = async (client, [sha = ''], { flags, output }) => {
  const answer = await client.call('config.rollback', { sha, ...optionsOf(flags) });
  if (output === 'json') return printJson(answer);
  if ('rolledBack' in answer) print(`version ${answer.newCommitSha.slice(0, SHORT)} says what ${answer.sha.slice(0, SHORT)} said\n`);
};

function optionsOf(flags: Readonly<Record<string, string>>): { baseSha?: string; message?: string } {
  const { base, message } = flags;
  return { ...(base === undefined ? {} : { baseSha: base }), ...(message === undefined ? {} : { message }) };
}
