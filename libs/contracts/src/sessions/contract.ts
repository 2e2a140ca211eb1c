import { defineContract } from '../definition/define.ts';
import { adminApprovalMethods } from './admin-approval.ts';
import { agentMethods } from './agent.ts';
import { approvalOrderOperations } from './approval-orders.ts';
import { budgetOperations } from './budgets.ts';
import { contextMethods } from './context.ts';
import { contextStatusOperations } from './context-status.ts';
import { contextToolOperations } from './context-tools.ts';
import { devToolOperations } from './dev-tools.ts';
import { sessionsEvents } from './events.ts';
import { recordingOperations } from './recordings.ts';
import { responseOperations } from './responses.ts';
import { sessionMethods } from './session.ts';
import { subagentMethods, subagentOperations } from './subagent.ts';
import { turnOrderOperations } from './turn-orders.ts';
import { turnOperations } from './turns.ts';
import { usageListOperations } from './usage-list.ts';

export const sessions = defineContract({
  service: 'sessions',
  methods: { ...agentMethods, ...sessionMethods, ...subagentMethods, ...contextMethods, ...adminApprovalMethods },
  operations: {
    ...turnOperations,
    ...turnOrderOperations,
    ...subagentOperations,
    ...approvalOrderOperations,
    ...responseOperations,
    ...contextToolOperations,
    ...contextStatusOperations,
    ...devToolOperations,
    ...budgetOperations,
    ...usageListOperations,
    ...recordingOperations,
  },
  events: sessionsEvents,
});
