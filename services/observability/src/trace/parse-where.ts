import { invalidParams } from '@switchyard/contracts';
import type { Condition, Filter } from '@switchyard/store';
import type { RecordDocument } from '../documents/collections.ts';

/** Fields of `where`, the field of a record that each one compares, and the type of its value. */
const FIELDS = {
  agent: ['agentId', 'text'],
  model: ['model', 'text'],
  session: ['sessionKey', 'text'],
  channel: ['channelId', 'text'],
  client: ['client', 'text'],
  kind: ['kind', 'text'],
  state: ['state', 'text'],
  reason: ['lastError', 'text'],
  finish: ['finishReason', 'text'],
  cost: ['costUsd', 'number'],
  tokens: ['tokens', 'number'],
  calls: ['calls', 'number'],
  steps: ['steps', 'number'],
  attempts: ['attempts', 'number'],
  duration: ['durationMs', 'number'],
} as const satisfies Record<string, readonly [keyof RecordDocument, 'text' | 'number']>;

type FieldName = keyof typeof FIELDS;

const OPERATORS = { '=': 'eq', '!=': 'ne', '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' } as const;
type Operator = keyof typeof OPERATORS;

const CONDITION = /^(?<lead>\s*)(?<name>[A-Za-z]+)(?<gap>\s*)(?<operator>!=|>=|<=|=|>|<)(?<value>.*)$/;
const ERROR = 'error';
const MAX_TEXT_CHARS = 256;

/**
 * Parses `error`, or conditions that are separated by commas and must all match, such as `agent=a, model=m, cost>0.1`. A fault is rejected
 * with its position in the text, counted from 1.
 */
export function parseWhere(where: string): Filter<RecordDocument> {
  const filter: Record<string, unknown> = {};
  let position = 1;
  for (const part of where.split(',')) {
    const at = position + part.length - part.trimStart().length;
    if (part.trim() === ERROR) merge(filter, 'lastError', { exists: true });
    else addCondition(filter, part, at);
    position += part.length + 1;
  }
  return filter;
}

function addCondition(filter: Record<string, unknown>, part: string, at: number): void {
  const groups = CONDITION.exec(part)?.groups as Record<'name' | 'gap' | 'operator' | 'value', string> | undefined;
  if (groups === undefined) throw fault(at, `error or a condition such as agent=a`, part.trim() === '' ? 'nothing' : 'another text');
  const { name, gap, operator, value } = groups;
  if (!Object.hasOwn(FIELDS, name)) throw fault(at, `one of ${Object.keys(FIELDS).join(', ')}`, 'another field');
  const [field, type] = FIELDS[name as FieldName];
  const operatorAt = at + name.length + gap.length;
  const text = value.trim();
  if (type === 'text' && operator !== '=' && operator !== '!=') throw fault(operatorAt, `= or != after ${name}`, operator);
  const valueAt = operatorAt + operator.length;
  if (type === 'text' && (text === '' || text.length > MAX_TEXT_CHARS))
    throw fault(valueAt, `1 to ${MAX_TEXT_CHARS} characters`, `${text.length} characters`);
  const operand = type === 'text' ? text : Number(text);
  if (type === 'number' && (text === '' || !Number.isFinite(operand))) throw fault(valueAt, 'a number', 'another text');
  merge(filter, field, toCondition(operator as Operator, operand));
}

function toCondition(operator: Operator, operand: string | number): Record<string, unknown> {
  return operator === '=' ? { in: [operand] } : { [OPERATORS[operator]]: operand };
}

/** Several conditions on one field must all match. */
function merge(filter: Record<string, unknown>, field: string, condition: Condition<unknown> & object): void {
  filter[field] = { ...(filter[field] as object | undefined), ...condition };
}

function fault(position: number, expected: string, received: string) {
  const message = `where: at character ${position}: expected ${expected}, got ${received}`;
  return invalidParams([{ path: 'where', expected, received, message }]);
}
