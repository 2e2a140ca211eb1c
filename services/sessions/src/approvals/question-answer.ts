import { MAX_ANSWER_CHARS, type Principal } from '@switchyard/contracts';
import { isQuestion, type ApprovalDocument } from './approval-document.ts';
import { isAlreadyResolved, type Approvals } from './approvals.ts';
import type { OpenQuestions } from './open-questions.ts';

/** The answer of a user to the question for which a turn of the session waits. */
export interface ChatAnswer {
  text: string;
  sessionKey: string;
  senderId: string;
}

/** Answers the questions of agents in their sessions. */
export interface QuestionAnswers {
  /** Returns whether a plain message of a session answers a question. Messages of sessions without one cost no read. */
  isAwaited(tenant: string, sessionKey: string): Promise<boolean>;
  /** Records the answer and returns the reply to the user. Only the first answer counts. */
  answer(principal: Principal, answer: ChatAnswer): Promise<string>;
}

export function createQuestionAnswers(approvals: Pick<Approvals, 'listPending' | 'resolve'>, open: OpenQuestions): QuestionAnswers {
  /** A turn waits for one question at a time, and a session runs one turn. */
  async function find(tenant: string, sessionKey: string): Promise<ApprovalDocument | undefined> {
    return (await approvals.listPending(tenant, sessionKey)).find(isQuestion);
  }

  return {
    async isAwaited(tenant, sessionKey) {
      if (!open.has(tenant, sessionKey)) return false;
      if (await find(tenant, sessionKey)) return true;
      open.forget(tenant, sessionKey);
      return false;
    },

    async answer({ tenant }, { text, sessionKey, senderId }) {
      if (text.trim() === '') return 'Write the answer after /answer.';
      const question = await find(tenant, sessionKey);
      if (!question) return 'No question waits for an answer in this session.';
      const answer = text.slice(0, MAX_ANSWER_CHARS).toWellFormed();
      try {
        await approvals.resolve(tenant, question.requestId, { approved: true, answer, approvedBy: `chat:${senderId}` });
      } catch (error) {
        if (!isAlreadyResolved(error)) throw error;
        return 'The question was answered before.';
      }
      return 'Answered.';
    },
  };
}
