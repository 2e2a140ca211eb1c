import { commandHelp } from '../arguments/command-help.ts';
import { EXIT, type Command } from '../arguments/command.ts';
import { wrongUsage } from '../output/failure.ts';
import { self } from '../server/installation.ts';

/** Completion scripts. All of them call the CLI for completions. */
const SCRIPTS: Readonly<Record<string, string>> = {
  // bash splits words at colons, which session keys contain. The script reads the line and omits the part before the last colon.
  bash: `_switchyard() {
  local line=\${COMP_LINE:0:COMP_POINT} typed cut found
  local -a words
  read -ra words <<< "$line"
  [[ $line == *' ' ]] && words+=('')
  typed=\${words[-1]}
  cut=\${typed%"\${typed##*[:=]}"}
  COMPREPLY=()
  while IFS= read -r found; do
    if [[ $found == '<files>' ]]; then
      compopt -o default 2> /dev/null
      return
    fi
    COMPREPLY+=("$(printf '%q' "\${found#"$cut"}")")
  done < <("\${words[0]}" completion words -- "\${words[@]:1}" 2> /dev/null)
}
complete -F _switchyard switchyard
`,
  zsh: `#compdef switchyard
_switchyard() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ $found[1] == '<files>' ]]; then
    _files
  elif [[ -n $found[1] ]]; then
    compadd -- "\${found[@]}"
  fi
}
compdef _switchyard switchyard
`,
  fish: `function __switchyard
  set -l words (commandline -opc) (commandline -ct)
  for found in ($words[1] completion words -- $words[2..-1] 2> /dev/null)
    if test "$found" = '<files>'
      __fish_complete_path (commandline -ct)
    else
      echo $found
    end
  end
end
complete -c switchyard -f -a '(__switchyard)'
`,
};

const SHELLS = Object.keys(SCRIPTS);

export const completion: Command = {
  flags: [],
  suggest: ([word]) => ({ words: word === undefined ? SHELLS : [] }),
  help: () =>
    commandHelp(
      'completion bash|zsh|fish',
      'Prints a shell script that completes commands, flags, and names of agents, sessions and more. switchyard must be on the PATH.',
      {
        examples: [
          'completion bash > ~/.local/share/bash-completion/completions/switchyard',
          'completion fish > ~/.config/fish/completions/switchyard.fish',
        ],
      },
    ),
  async run({ words: [shell, ...typed], suggest }) {
    if (shell === 'words') {
      const found = await suggest(typed);
      process.stdout.write(found === 'files' ? '<files>\n' : found.map((word) => `${word}\n`).join(''));
      return EXIT.done;
    }
    const script = shell === undefined || typed.length > 0 ? undefined : SCRIPTS[shell];
    if (script === undefined) throw wrongUsage(`completion needs a shell: ${SHELLS.join(', ')}.`, `${self()} completion bash`);
    process.stdout.write(script);
    return EXIT.done;
  },
};
