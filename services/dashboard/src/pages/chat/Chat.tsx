import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useDraft } from '../../parts/use-draft.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { useMay } from '../../session/presence.ts';
import { cancel, send, useConversation } from './conversation.ts';

/** A conversation with an agent. The turn continues on the server when this page is left. */
export function Chat() {
  const mayListAgents = useMay('agents.list');
  const [agentId] = useSearchText('agent');
  const [sessionKey] = useSearchText('session');
  const [draft, setDraft] = useDraft('chat message');
  const exchanges = useConversation();
  const isStreaming = exchanges.at(-1)?.state === 'streaming';

  const submit = async (): Promise<void> => {
    const message = draft.trim();
    if (message === '' || isStreaming) return;
    setDraft('');
    await send(message, { ...(agentId === '' ? {} : { agentId }), ...(sessionKey === '' ? {} : { sessionKey }) });
  };

  return (
    <>
      {mayListAgents && <AgentSelect />}
      <div className="conversation" role="log" aria-label="Conversation" aria-busy={isStreaming} tabIndex={0}>
        {exchanges.map(({ message, answer, state, failure, turnId }, index) => (
          <article key={index}>
            <p className="mine" dir="auto">
              {message}
            </p>
            <p className="theirs" dir="auto" data-state={state}>
              {answer}
            </p>
            {failure && <p role="alert">{failure}</p>}
            {turnId !== undefined && (
              <PageLink to="/runs" search={{ turn: turnId }}>
                Steps of this turn
              </PageLink>
            )}
          </article>
        ))}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label>
          Message
          <textarea
            rows={3}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              void submit();
            }}
          />
        </label>
        <p className="tools">
          <button type="submit" disabled={isStreaming || draft.trim() === ''}>
            Send
          </button>
          {isStreaming && (
            <button type="button" onClick={() => cancel()}>
              Cancel
            </button>
          )}
        </p>
      </form>
      {draft.trim() !== '' && <CopyAs method="agent.execute" params={{ message: draft.trim(), ...(agentId === '' ? {} : { agentId }) }} />}
    </>
  );
}

/** The agent of the next message. Without the scope to list agents the default agent answers. */
function AgentSelect() {
  const agents = useCall('agents.list', {});
  const [agentId, setAgentId] = useSearchText('agent');
  return (
    <Loaded query={agents}>
      {({ agents: ids }) => (
        <label>
          Agent{' '}
          <select value={agentId} onChange={(event) => setAgentId(event.target.value)}>
            <option value="">the default agent</option>
            {ids.map((id) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
      )}
    </Loaded>
  );
}
