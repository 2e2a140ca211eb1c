import type { CallResult } from '@switchyard/client';
import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

type Request = CallResult<'admin.approval.pending'>['requests'][number];

/** The action of requests that ask for an answer in words. */
const QUESTION = 'ask_user';

/** Tool calls of all sessions that wait for a decision, and questions that wait for an answer. */
export function Approvals() {
  const pending = useCall('admin.approval.pending', {}, ['approval:requested', 'approval:resolved']);
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: ['admin.approval.pending'] });
  return (
    <>
      <Loaded query={pending}>
        {({ requests }) => (
          <>
            {requests.length === 0 && <p className="empty">Nothing waits for approval.</p>}
            {requests.map((request) => (
              <Waiting key={request.requestId} request={request} onDecided={refresh} />
            ))}
            {requests.length > 1 && (
              <Confirm
                label="Deny all"
                name={String(requests.length)}
                needs="admin.approval.resolveAll"
                run={() => call('admin.approval.resolveAll', { approved: false }).then(refresh)}
              >
                <p>{requests.length} tool calls of all sessions are denied, and those that arrive until then.</p>
              </Confirm>
            )}
          </>
        )}
      </Loaded>
      <p className="tools">
        <Action label="Forget denials" needs="admin.approval.clearDenialCache" run={() => call('admin.approval.clearDenialCache', {})} />
        <span className="age">An action that was denied is denied again without a question until its denial is forgotten.</span>
      </p>
      <CopyAs method="admin.approval.pending" params={{}} />
    </>
  );
}

function Waiting({ request, onDecided }: { request: Request; onDecided: () => Promise<void> }) {
  const { requestId, toolName, action, params, agentId, sessionKey, trustLevel, createdAt, timeoutMs, tainted } = request;
  const isQuestion = action === QUESTION;
  const [reason, setReason] = useDraft(`reason for ${requestId}`);
  const [answer, setAnswer] = useDraft(`answer to ${requestId}`);
  const decide = async (approved: boolean): Promise<void> => {
    await call('admin.approval.resolve', {
      id: requestId,
      approved,
      ...(reason === '' ? {} : { reason }),
      ...(isQuestion && approved ? { answer } : {}),
    });
    await onDecided();
  };
  return (
    <article className="card">
      <h2>{action}</h2>
      <p>
        Tool {toolName} of agent {agentId}, for a sender of trust level {trustLevel}, since {formatTime(createdAt)}, until{' '}
        {formatTime(createdAt + timeoutMs)} in{' '}
        <PageLink to="/sessions" search={{ session: sessionKey }}>
          <bdi>{sessionKey}</bdi>
        </PageLink>
      </p>
      {tainted && <p>This agent has read text from outside, which may have caused the call.</p>}
      <pre tabIndex={0}>{JSON.stringify(params, undefined, 2)}</pre>
      <label>
        Reason <input value={reason} onChange={(event) => setReason(event.target.value)} autoComplete="off" />
      </label>
      {isQuestion && (
        <label>
          Answer <input value={answer} maxLength={20_000} onChange={(event) => setAnswer(event.target.value)} autoComplete="off" />
        </label>
      )}
      <p className="tools">
        <Action label={isQuestion ? 'Answer' : 'Approve once'} needs="admin.approval.resolve" run={() => decide(true)} />
        <Action label="Deny" needs="admin.approval.resolve" run={() => decide(false)} />
      </p>
    </article>
  );
}
