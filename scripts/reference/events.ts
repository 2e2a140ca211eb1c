import { contracts, notifications, outputSchema, publicMethods, type Contract, type NotificationSpec } from '@switchyard/contracts';
import { code, fields, json } from './markdown.ts';

/** Every system event and every notification of a WebSocket. */
export function eventsPage(): string {
  const all = (Object.values(contracts) as Contract[]).flatMap(({ service, events }) =>
    Object.entries(events).map(([name, spec]) => ({ name, service, ...spec })),
  );
  return `# Events

Written by \`make lock\` from [the contracts](../../libs/contracts/src/registry.ts); do not edit it.

\`GET /api/events\` sends the events of the caller's tenant as they happen, and for a day to whoever comes back with the id of the last one. New names may come at any time: readers pass over what they do not know.

${all
  .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  .map(({ name, service, summary, payload, beyond, example }) =>
    [
      `## ${name}`,
      `${summary} From ${service}${causedBy(name)}.${beyond ? ' An addition of this product to the interface.' : ''}`,
      fields(outputSchema(payload), 'always'),
      json(example),
    ].join('\n\n'),
  )
  .join('\n\n')}

# Notifications

What a WebSocket client gets without having asked. They carry no id and are never answered.

${(Object.entries(notifications) as [string, NotificationSpec][])
  .map(([name, { summary, audience, from, params, example }]) =>
    [
      `## ${name}`,
      `${summary} From ${from.join(', ')}, for ${AUDIENCE[audience]}.`,
      fields(outputSchema(params), 'always'),
      json(example),
    ].join('\n\n'),
  )
  .join('\n\n')}
`;
}

const AUDIENCE: Readonly<Record<NotificationSpec['audience'], string>> = {
  all: 'every connection of the tenant',
  client: 'the connections of the token that began it, or of the tenant where that is not known',
  connection: 'the connection that asked for it',
};

function causedBy(event: string): string {
  const methods = [...publicMethods.values()].filter(({ emits }) => (emits as readonly string[]).includes(event));
  return methods.length === 0 ? '' : `, through ${methods.map(({ name }) => code(name)).join(', ')}`;
}
