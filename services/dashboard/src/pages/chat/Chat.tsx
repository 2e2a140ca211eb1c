import { useEffect } from 'react';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { useSearchChange, useSearchText } from '../../parts/use-search.ts';
import { useMay } from '../../session/presence.ts';
import { AgentSelect } from '../../parts/AgentSelect.tsx';
import { cancel, restore, restoreAgain, send } from './conversation.ts';
import { getConversation, resolveAddress, setLatest, useConversations } from './conversation-store.ts';
import { Exchanges, Restored } from './Messages.tsx';

/** A conversation with an agent, which the address names. The turn continues on the server when this page is left. */
export function Chat() {
  const mayListAgents = useMay('agents.list');
  const [agentId] = useSearchText('agent');
  const [sessionKey] = useSearchText('session');
  const changeSearch = useSearchChange();
  const [draft, setDraft] = useDraft('chat message');
  useConversations();
  const address = resolveAddress({ agentId, sessionKey });
  const conversation = getConversation(address);
  const isStreaming = conversation?.exchanges.at(-1)?.state === 'streaming';

  const open = (next: { agentId: string; sessionKey: string }): void => {
    setLatest(next);
    changeSearch({ agent: next.agentId, session: next.sessionKey });
  };
  useEffect(() => {
    setLatest(address);
    if (address.agentId !== agentId || address.sessionKey !== sessionKey)
      changeSearch({ agent: address.agentId, session: address.sessionKey });
    void restore(address);
  });

  const submit = async (): Promise<void> => {
    const message = draft.trim();
    if (message === '' || isStreaming) return;
    setDraft('');
    await send(message, address);
  };

  return (
    <>
      {mayListAgents && <AgentSelect agentId={address.agentId} onSelect={(next) => open({ agentId: next, sessionKey: '' })} />}
      <p className="tools">
        <button type="button" onClick={() => open({ agentId: address.agentId, sessionKey: `chat-${crypto.randomUUID()}` })}>
          New conversation
        </button>
        {address.sessionKey !== '' && <bdi className="age">{address.sessionKey}</bdi>}
      </p>
      {conversation?.failure !== undefined && (
        <p role="alert" className="notice">
          {conversation.failure}{' '}
          <button type="button" onClick={() => void restoreAgain(address)}>
            Try again
          </button>
        </p>
      )}
      {(conversation?.isLoading ?? true) && <p className="loading">Loading …</p>}
      {conversation?.hasOlder && (
        <PageLink to="/sessions" search={{ session: address.sessionKey }}>
          Older messages
        </PageLink>
      )}
      <div className="conversation" role="log" aria-label="Conversation" aria-busy={isStreaming} tabIndex={0}>
        <Restored messages={conversation?.restored ?? []} />
        <Exchanges exchanges={conversation?.exchanges ?? []} />
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
      <CopyAs {...describeCall(draft.trim(), address)} />
    </>
  );
}

/** The call that sends what is typed, or the one that reads the conversation. */
function describeCall(draft: string, { agentId, sessionKey }: { agentId: string; sessionKey: string }) {
  if (draft === '') return { method: 'session.history', params: sessionKey === '' ? {} : { session_key: sessionKey } } as const;
  return { method: 'agent.execute', params: { message: draft, ...(agentId === '' ? {} : { agentId }) } } as const;
}
