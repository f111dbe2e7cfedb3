/**
 * Completion in shells, generated from the commands themselves. The scripts call the program in the protocol of Cobra, which kubectl also
 * uses for its plugins (`kubectl_complete-atrium`).
 */
import { Argument, type Command } from 'commander';
import type { Terminal } from './terminal.ts';

const scripts: Record<string, (name: string, id: string) => string> = {
  bash: (name, id) => `# In ~/.bashrc: source <(${name} completion bash)
_${id}() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _${id} ${name}
`,
  zsh: (name, id) => `#compdef ${name}
# In ~/.zshrc, after compinit: source <(${name} completion zsh)
_${id}() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ $line == :* || -z $line ]] || found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe ${name} found; else _files; fi
}
compdef _${id} ${name}
`,
  fish: (name) => `# ${name} completion fish > ~/.config/fish/completions/${name}.fish
complete -c ${name} -a '(set -l words (commandline -opc) (commandline -ct); $words[1] __complete $words[2..] 2>/dev/null | string match -v ":*")'
`,
};

/** Directives of Cobra in the last line: 0 completes files if there are no candidates, 4 never completes files. */
const directive = { files: ':0', none: ':4' };

export function addCompletion(program: Command, terminal: () => Terminal): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(scripts)))
    .action((shell: string) => {
      const name = program.name();
      terminal().stdout.write(scripts[shell]?.(name, name.replaceAll('-', '_')) ?? '');
    });

  program
    // Otherwise an option among the words would be parsed as one of this program.
    .enablePositionalOptions()
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action((words: string[]) => {
      terminal().stdout.write(`${completions(program, words).join('\n')}\n`);
    });
}

/** Returns the candidates for the last word, each with a tab and its description. The last line is a directive. */
function completions(program: Command, words: readonly string[]): string[] {
  const begun = words.at(-1) ?? '';
  const { command, rest } = commandOf(program, words.slice(0, -1));
  const options = command.createHelp().visibleOptions(command);
  const previous = options.find((option) => [option.long, option.short].includes(rest.at(-1) ?? ''));
  if (previous?.required) return [directive.files];
  const commands = command.createHelp().visibleCommands(command);
  const found = begun.startsWith('-')
    ? options.map(({ long, short, description }) => [long ?? short ?? '', description])
    : [
        ...commands.map((child) => [child.name(), child.description()]),
        ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((choice) => [choice, ''])),
      ];
  const fitting = found.filter(([word = '']) => word.startsWith(begun)).map(([word, meaning]) => `${word}\t${meaning}`);
  const takesFile = command.registeredArguments.some((argument) => argument.name() === 'file');
  return [...fitting, takesFile ? directive.files : directive.none];
}

/** Returns the command that the words name, and the words after it. */
function commandOf(program: Command, [word, ...rest]: readonly string[]): { command: Command; rest: readonly string[] } {
  const child = program.commands.find((command) => command.name() === word);
  if (child !== undefined) return commandOf(child, rest);
  return { command: program, rest: word === undefined ? [] : [word, ...rest] };
}
