import { commandHelp } from '../arguments/command-help.ts';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect } from '../server/server-location.ts';
import { wrongUsage } from '../output/failure.ts';
import { print, printAs, remark } from '../output/output.ts';
import { self } from '../server/installation.ts';

const FLAGS: readonly [string, string][] = [
  ['--agent <id>', 'agent id; default: the default agent'],
  ['--session <key>', 'session key or name, as in ask; default: your default session'],
];

export const cancel: Command = {
  flags: ['agent', 'session'],
  help: () =>
    commandHelp(
      'cancel [<turn>] [--agent <id>] [--session <key>]',
      'Cancels one turn by its id, or all your running and queued turns of a session.',
      { flags: FLAGS, examples: ['cancel', 'cancel --session notes', 'cancel turn_4fT0mUq2Zs8KxY1bNcVdGh'] },
    ),
  run: runCancel,
};

async function runCancel({ flags, words, output, where }: Invocation): Promise<number> {
  const [turnId, ...more] = words;
  if (more.length > 0) throw wrongUsage('cancel takes at most one turn id.', `${self()} cancel ${turnId}`);
  const client = await connect(where());
  try {
    const answer = await client.call('agent.cancel', {
      ...(turnId === undefined ? {} : { turnId }),
      ...(flags['agent'] === undefined ? {} : { agentId: flags['agent'] }),
      ...(flags['session'] === undefined ? {} : { sessionKey: flags['session'] }),
    });
    if (output !== 'table') printAs(output, answer);
    else if (answer.turns.length === 0) remark(`You have no running or queued turn in ${answer.sessionKey}.`);
    else print(answer.turns.map((turn) => `${turn.turnId} ${turn.state}\n`).join(''));
    return EXIT.done;
  } finally {
    client.close();
  }
}
