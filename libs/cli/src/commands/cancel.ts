import { commandHelp } from '../arguments/command-help.ts';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect } from '../server/server-location.ts';
import { wrongUsage } from '../output/failure.ts';
import { print, printAs, remark } from '../output/output.ts';
import { self } from '../server/installation.ts';

const FLAGS: readonly [string, string][] = [
  ['--agent <id>', 'of which agent; else of the default one'],
  ['--session <key>', 'in which conversation: its key, or the name that it was asked with; else in your default one'],
];

export const cancel: Command = {
  flags: ['agent', 'session'],
  help: () =>
    commandHelp(
      'cancel [<turn>] [--agent <id>] [--session <key>]',
      'Ends your turns that run or wait: one by its id, or all that you have in a conversation.',
      { flags: FLAGS, examples: ['cancel', 'cancel --session notes', 'cancel turn_4fT0mUq2Zs8KxY1bNcVdGh'] },
    ),
  run: runCancel,
};

async function runCancel({ flags, words, output, where }: Invocation): Promise<number> {
  const [turnId, ...more] = words;
  if (more.length > 0) throw wrongUsage('cancel takes one turn, or none.', `${self()} cancel ${turnId}`);
  const client = await connect(where());
  try {
    const answer = await client.call('agent.cancel', {
      ...(turnId === undefined ? {} : { turnId }),
      ...(flags['agent'] === undefined ? {} : { agentId: flags['agent'] }),
      ...(flags['session'] === undefined ? {} : { sessionKey: flags['session'] }),
    });
    if (output !== 'table') printAs(output, answer);
    else if (answer.turns.length === 0) remark(`Nothing of yours runs or waits in ${answer.sessionKey}.`);
    else print(answer.turns.map((turn) => `${turn.turnId} ${turn.state}\n`).join(''));
    return EXIT.done;
  } finally {
    client.close();
  }
}
