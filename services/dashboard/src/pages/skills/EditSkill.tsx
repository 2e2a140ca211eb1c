import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { Section } from '../../parts/Section.tsx';
import { setDraft, useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';
import { Field } from './Field.tsx';
import { useFieldErrors } from './field-errors.ts';
import { getOwner } from './skill-place.ts';
import { renderTemplate } from './skill-template.ts';
import type { Skill } from './SkillTable.tsx';

interface EditSkillProps {
  skill: Skill;
  agentId: string;
  onClose: () => void;
}

/** Replaces the text of a skill. No method returns the present text, so that the form begins with a template. */
export function EditSkill({ skill, agentId, onClose }: EditSkillProps) {
  const { name, description } = skill;
  const key = `new text of skill ${agentId}/${name}`;
  const [content, setContent] = useDraft(key, renderTemplate(name, description));
  const { errors, submit } = useFieldErrors(['name', 'content']);
  const cache = useQueryClient();
  const close = (): void => {
    setDraft(key, undefined);
    onClose();
  };
  const save = async (): Promise<void> => {
    await call('skills.update', { name, content, ...getOwner(agentId, skill) });
    await cache.invalidateQueries({ queryKey: ['skills.list'] });
    close();
  };
  return (
    <Section title={`Edit ${name}`} needs={['skills.update']}>
      <p>
        The present text cannot be shown, because the service does not return it. What you save replaces the whole text of SKILL.md; the
        other files of the skill stay.
      </p>
      <Field label="New text of SKILL.md" error={errors['content'] ?? errors['name']}>
        {(attributes) => (
          <textarea rows={10} value={content} spellCheck={false} onChange={(event) => setContent(event.target.value)} {...attributes} />
        )}
      </Field>
      <p className="tools">
        <Action label="Replace text" needs="skills.update" disabled={content === ''} run={() => submit(save)} />
        <button type="button" onClick={close}>
          Discard
        </button>
      </p>
    </Section>
  );
}
