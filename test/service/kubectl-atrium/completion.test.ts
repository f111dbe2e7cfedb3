import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Machine } from './machine.ts';

const run = promisify(execFile);

describe('completion', () => {
  const machine = forSuite(
    () => Machine.create(),
    (it) => it.remove(),
  );

  const completions = async (...words: string[]) => (await machine.run(['__complete', ...words])).stdout.trimEnd().split('\n');
  const names = async (...words: string[]) => (await completions(...words)).map((line) => line.split('\t')[0]);

  it('knows the commands and their descriptions', async () => {
    expect(await completions('lo')).to.deep.equal([
      'login\tlog in, for kubectl on this machine',
      'logout\tend a login on this machine and at the issuer',
      ':4',
    ]);
    expect(await names(''))
      .to.include.members(['login', 'token', 'logout', 'completion'])
      .and.not.include('__complete');
  });

  it('knows the options of a command, and that what follows some is a file or a text', async () => {
    expect(await names('login', '--c')).to.deep.equal([
      '--client-id',
      '--ca-file',
      '--ca-data',
      '--client-secret-file',
      '--client-authentication',
      '--context',
      '--console',
      ':4',
    ]);
    expect(await names('logout', '--al')).to.deep.equal(['--all', ':4']);
    expect(await names('token', '--conte')).to.deep.equal([':4']);
    expect(await completions('login', '--ca-file', '')).to.deep.equal([':0']);
    expect(await completions('audit', 'verify', '')).to.deep.equal([':0']);
    expect(await names('audit', 'verify', '--check')).to.deep.equal(['--checkpoints', ':0']);
    expect(await names('login', '--device', '--no-b')).to.deep.equal(['--no-browser', ':4']);
  });

  it('knows the shells', async () => {
    expect(await names('completion', '')).to.deep.equal(['bash', 'zsh', 'fish', ':4']);
    expect((await machine.run(['completion', 'tcsh'])).stderr).to.match(/Allowed choices are bash, zsh, fish/);
  });

  it('works in bash', async () => {
    const words = ['kubectl-atrium', 'login', '--ca'];
    const { stdout: script } = await machine.run(['completion', 'bash']);
    const program = await machine.file('kubectl-atrium', `#!/bin/sh\nexec ${machine.command([]).join(' ')} "$@"\n`);
    const session = `${script}
      chmod +x ${program}; PATH=${machine.home}:$PATH
      COMP_WORDS=(${words.join(' ')}); COMP_CWORD=2; _kubectl_atrium; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p kubectl-atrium`;
    const { stdout, stderr } = await run('bash', ['--norc', '-c', session], { env: machine.environment });

    expect(stderr).to.equal('');
    expect(stdout.split('\n')).to.deep.equal(['--ca-file', '--ca-data', 'complete -o default -F _kubectl_atrium kubectl-atrium', '']);
  });

  it('has scripts for zsh and fish that name the program', async () => {
    const { stdout: zsh } = await machine.run(['completion', 'zsh']);
    expect(zsh)
      .to.match(/^#compdef kubectl-atrium\n/)
      .and.to.contain('compdef _kubectl_atrium kubectl-atrium');
    const { stdout: fish } = await machine.run(['completion', 'fish']);
    expect(fish).to.contain('complete -c kubectl-atrium -a ');
  });
});
