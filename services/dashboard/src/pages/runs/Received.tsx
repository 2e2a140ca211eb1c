import type { TurnRecording } from '@switchyard/contracts';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatSome } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { LongText } from '../../parts/LongText.tsx';
import { useCall } from '../../parts/use-call.ts';
import { readBundle } from './bundle.ts';
import { EarlierMessages } from './EarlierMessages.tsx';
import { Evidence } from './Evidence.tsx';

interface ReceivedProps {
  sessionKey: string;
  turnId: string;
}

/** The texts that the model received in a turn, in the order of the prompt, and the prompt as counts. Secrets are redacted. */
export function Received({ sessionKey, turnId }: ReceivedProps) {
  const params = { traceId: turnId };
  const bundle = useCall('obs.bundle', params);
  return (
    <>
      <Loaded query={bundle}>
        {(result) => {
          const { recording, evidence } = readBundle(result, turnId);
          return (
            <>
              {recording === undefined ? (
                <p className="empty">The texts of this turn are not kept any more.</p>
              ) : (
                <>
                  <h3>System prompt</h3>
                  {recording.system === undefined ? (
                    <p className="empty">The agent has no system prompt.</p>
                  ) : (
                    <>
                      <p className="age">As the agent is configured now.</p>
                      <LongText text={recording.system} />
                    </>
                  )}
                  <EarlierMessages sessionKey={sessionKey} before={recording.createdAt} count={evidence?.told?.messages ?? 0} />
                  <h3>Message of this turn</h3>
                  <LongText text={recording.message} />
                  <ToolResults steps={recording.steps} />
                  <h3>Offered tools</h3>
                  <p>{recording.tools.length === 0 ? 'None' : formatSome(recording.tools.map(({ name }) => name))}</p>
                </>
              )}
              {evidence && (
                <>
                  <h3>Size of the prompt</h3>
                  <Evidence evidence={evidence} />
                </>
              )}
            </>
          );
        }}
      </Loaded>
      <CopyAs method="obs.bundle" params={params} />
    </>
  );
}

/** The tool calls of the model, whose results it received in the next step. */
function ToolResults({ steps }: Pick<TurnRecording, 'steps'>) {
  const calls = steps.flatMap(({ calls: made, results }) => made.map((call, at) => ({ ...call, ...results[at] })));
  if (calls.length === 0) return undefined;
  return (
    <>
      <h3>Results of tool calls</h3>
      {calls.map(({ name, input, result, failed }, index) => (
        <Facts
          key={index}
          facts={{
            [name]: <LongText text={JSON.stringify(input)} />,
            [failed === true ? 'Failure' : 'Result']: (
              <LongText text={typeof result === 'string' ? result : (JSON.stringify(result) ?? '')} />
            ),
          }}
        />
      ))}
    </>
  );
}
