import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { setDraft, useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';
import { Field } from './Field.tsx';
import { useFieldErrors } from './field-errors.ts';
import { SharedField } from './SharedField.tsx';
import { getPlace } from './skill-place.ts';
import { renderTemplate } from './skill-template.ts';

/** A form for the name and the text. The text is a template with the name until it is edited. */
export function CreateSkill({ agentId }: { agentId: string }) {
  const [name, setName] = useDraft(`skill name of ${agentId}`);
  const [content, setContent] = useDraft(`skill text of ${agentId}`, renderTemplate(name));
  const [isShared, setIsShared] = useState(false);
  const [isReplacing, setIsReplacing] = useState(false);
  const [created, setCreated] = useState('');
  const { errors, submit } = useFieldErrors(['name', 'content', 'scope']);
  const cache = useQueryClient();
  const create = async (): Promise<void> => {
    setCreated('');
    await call('skills.create', { name, content, ...getPlace(agentId, isShared), ...(isReplacing ? { force: true } : {}) });
    setDraft(`skill name of ${agentId}`, undefined);
    setDraft(`skill text of ${agentId}`, undefined);
    setIsReplacing(false);
    setCreated(name);
    await cache.invalidateQueries({ queryKey: ['skills.list'] });
  };
  return (
    <>
      <Field label="Name" error={errors['name']}>
        {(attributes) => <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" {...attributes} />}
      </Field>
      <Field label="SKILL.md" error={errors['content']}>
        {(attributes) => (
          <textarea rows={10} value={content} spellCheck={false} onChange={(event) => setContent(event.target.value)} {...attributes} />
        )}
      </Field>
      <SharedField isShared={isShared} onChange={setIsShared} error={errors['scope']} />
      <label>
        Replace a skill of this name{' '}
        <input type="checkbox" checked={isReplacing} onChange={(event) => setIsReplacing(event.target.checked)} />
      </label>
      <p className="tools">
        <Action label="Create skill" needs="skills.create" disabled={name === ''} run={() => submit(create)} />
        <span role="status">{created && `Created ${created}.`}</span>
      </p>
    </>
  );
}
