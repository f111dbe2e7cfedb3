// The part of a kubelet that kube-apiserver calls for logs, exec, attach and port-forward of pods, with Kubernetes' own streaming code.
// There are no containers: commands run on this machine, in the folder that it is given, and a container's log is a file in it.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const idle = 5 * time.Minute

type pods struct{ directory string }

// Runs the command on a terminal of its own, of the size that the caller has.
func onTerminal(run *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	var number, unlocked int32
	if err := control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
		return err
	}
	if err := control(master, syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
		return err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	run.Stdin, run.Stdout, run.Stderr = side, side, side
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = run.Start()
	side.Close()
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(master, in) }()
	go func() {
		for size := range resize {
			wanted := [4]uint16{size.Height, size.Width}
			_ = control(master, syscall.TIOCSWINSZ, unsafe.Pointer(&wanted))
		}
	}()
	// Reading fails once the last process has closed its side.
	_, _ = io.Copy(out, master)
	return run.Wait()
}

func control(file *os.File, request uintptr, argument unsafe.Pointer) error {
	if _, _, problem := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(argument)); problem != 0 {
		return problem
	}
	return nil
}

func (p pods) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Dir = p.directory
	if tty && in != nil {
		return exited(onTerminal(run, in, out, resize))
	}
	run.Stdout, run.Stderr = out, err
	if in != nil {
		// Not run.Stdin: a caller who says nothing more would hold up the end of the command.
		pipe, problem := run.StdinPipe()
		if problem != nil {
			return problem
		}
		go func() {
			defer pipe.Close()
			_, _ = io.Copy(pipe, in)
		}()
	}
	return exited(run.Run())
}

// A command that ended with a status is no failure of the node.
func exited(problem error) error {
	if ended, ok := problem.(*exec.ExitError); ok {
		return &utilexec.ExitErrorWrapper{ExitError: ended}
	}
	return problem
}

func (p pods) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return p.ExecInContainer(ctx, "", "", "", []string{"cat"}, in, out, err, tty, resize, 0)
}

func (p pods) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
		done <- struct{}{}
	}()
	go func() { _, _ = io.Copy(stream, connection); done <- struct{}{} }()
	<-done
	<-done
	return nil
}

// Follows the file until the caller goes.
func (p pods) logs(w http.ResponseWriter, r *http.Request, container string) {
	file, err := os.Open(filepath.Join(p.directory, filepath.Base(container)+".log"))
	if err != nil {
		http.Error(w, "no log", http.StatusNotFound)
		return
	}
	defer file.Close()
	for {
		read, _ := io.Copy(w, file)
		if r.FormValue("follow") != "true" {
			return
		}
		if read > 0 {
			w.(http.Flusher).Flush()
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 {
		http.NotFound(w, r)
		return
	}
	switch parts[0] {
	case "containerLogs":
		p.logs(w, r, parts[3])
	case "exec", "attach":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if parts[0] == "attach" {
			remotecommand.ServeAttach(w, r, p, parts[2], "", parts[3], options, idle, idle, remotecommand.SupportedStreamingProtocols)
			return
		}
		remotecommand.ServeExec(w, r, p, parts[2], "", parts[3], r.URL.Query()["command"], options, idle, idle, remotecommand.SupportedStreamingProtocols)
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, p, parts[2], "", options, idle, idle, portforward.SupportedProtocols)
	default:
		http.NotFound(w, r)
	}
}

// Arguments: the folder, the certificate, its key. Prints its port.
func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: pods{os.Args[1]}, TLSNextProto: nil}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	panic(server.ServeTLS(listener, os.Args[2], os.Args[3]))
}
