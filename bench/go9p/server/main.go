// Server is a 9P2000 server to measure against: it serves, on a Unix socket,
// a directory with one file, event, which never ends. Every read of it is
// answered at once with 100 bytes, or fewer if fewer were asked for,
// whatever the offset.
//
// Usage:
//
//	server SOCKET-PATH
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/srv9p"
)

var event = strings.Repeat("x", 99) + "\n"

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: server SOCKET-PATH")
	}
	path := os.Args[1]

	tree := srv9p.NewTree("none", "none", plan9.DMDIR|0555, nil)
	if _, err := tree.Root.Create("event", "none", 0444, nil); err != nil {
		log.Fatal(err)
	}
	srv := &srv9p.Server{
		Tree: tree,
		Read: func(ctx context.Context, fid *srv9p.Fid, data []byte, offset int64) (int, error) {
			return copy(data, event), nil
		},
	}

	// A socket left by an earlier run would make Listen fail.
	if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() == os.ModeSocket {
		os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer conn.Close()
			srv.Serve(bufferedReader{bufio.NewReader(conn), conn}, conn)
		}()
	}
}

// A bufferedReader reads requests from a connection through a buffer:
// srv9p reads each message in two pieces.
type bufferedReader struct {
	*bufio.Reader
	conn net.Conn
}

func (r bufferedReader) Close() error { return r.conn.Close() }
