import { memo } from 'react';
import { LongText } from '../../parts/LongText.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import type { Conversation, Exchange } from './conversation-store.ts';

/** Messages from before this tab opened the conversation. */
export function Restored({ messages }: { messages: Conversation['restored'] }) {
  return messages.map(({ role, content }, index) => (
    <article key={index}>{role === 'user' ? <Question text={content} /> : <Answer text={content} state="done" />}</article>
  ));
}

/** Messages that this tab sent, with their answers. */
export function Exchanges({ exchanges }: { exchanges: readonly Exchange[] }) {
  return exchanges.map(({ message, answer, state, failure, turnId }, index) => (
    <article key={index}>
      <Question text={message} />
      <Answer text={answer} state={state} />
      {failure && <p role="alert">{failure}</p>}
      {turnId !== undefined && (
        <PageLink to="/runs" search={{ turn: turnId }}>
          {state === 'failed' ? 'Why this turn failed' : 'Steps of this turn'}
        </PageLink>
      )}
    </article>
  ));
}

const Question = memo(function Question({ text }: { text: string }) {
  return (
    <div className="mine" dir="auto">
      <LongText text={text} />
    </div>
  );
});

const Answer = memo(function Answer({ text, state }: { text: string; state: Exchange['state'] }) {
  return (
    <div className="theirs" dir="auto" data-state={state}>
      <LongText text={text} isMarkdown />
    </div>
  );
});
