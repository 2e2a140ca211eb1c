import { group } from '../../arguments/command-group.ts';
import { createSkill, deleteSkill, importSkill, updateSkill, uploadSkill } from './skills-changes.ts';
import { listSkills } from './skills-list.ts';

export const skills = group({
  name: 'skills',
  about:
    'Lists, creates, uploads, imports, updates and deletes skills. Agents have each skill as the tool skill__<name>; users invoke it with /skill:<name>.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists the skills of an agent, and who may invoke each', flags: ['agent'], run: listSkills },
    create: {
      takes: '<name>',
      about: 'creates a skill from one SKILL.md',
      flags: ['file', 'agent', 'shared', 'force'],
      run: createSkill,
    },
    upload: {
      takes: '<folder>',
      about: 'creates a skill from all text files of a folder; hidden files, binary files and symbolic links are skipped',
      flags: ['name', 'agent', 'shared'],
      names: ['files'],
      run: uploadSkill,
    },
    import: { takes: '<url>', about: 'installs a skill from a folder of a repository', flags: ['agent', 'shared'], run: importSkill },
    update: {
      takes: '<name>',
      about: 'replaces SKILL.md of a skill; its other files stay',
      flags: ['file', 'agent', 'shared'],
      names: ['skills'],
      run: updateSkill,
    },
    delete: {
      takes: '<name>',
      about: 'permanently deletes a skill with its files',
      flags: ['agent', 'shared', 'yes'],
      names: ['skills'],
      run: deleteSkill,
    },
  },
  flags: {
    agent: { value: 'id', about: 'agent id; default: the default agent', names: 'agents' },
    file: { value: 'file', about: 'create, update: path of SKILL.md; - reads standard input', names: 'files' },
    name: { value: 'name', about: 'upload: name of the skill; default: the name in SKILL.md' },
    shared: { about: 'the skill belongs to every agent; only the default agent may share' },
    force: { about: 'create: replaces a skill of that name with its files' },
    yes: { about: 'delete: skips the confirmation' },
  },
  examples: ['skills list', 'skills create release-notes --file SKILL.md', 'skills upload release-notes', 'skills delete release-notes'],
});
