// Load plays the clients of a 9P2000 server, and prints how many reads a
// second it was answered. It speaks the protocol itself, so that it is busy
// with little else than its socket.
//
// Usage:
//
//	load read SOCKET OUTSTANDING SECONDS
//	load events SOCKET READERS MATCHING EVENTS
//
// The first reads the file event, opened to be read, with so many requests
// under way. The second publishes events through pub and reads them from event
// over a connection a reader; each event matches the filters of MATCHING
// readers, and each read must bring exactly one.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"9fans.net/go/plan9"
)

const (
	payloadBytes = 100
	// How many reads of an event reader are under way.
	window = 16
	// How many events go into one write, and how many deliveries may be due.
	batch  = 100
	maxDue = 20_000
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	if len(os.Args) < 5 {
		log.Fatal("usage: load read SOCKET OUTSTANDING SECONDS | load events SOCKET READERS MATCHING EVENTS")
	}
	var numbers []int
	for _, arg := range os.Args[3:] {
		number, err := strconv.Atoi(arg)
		if err != nil {
			log.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	switch {
	case os.Args[1] == "read" && len(numbers) == 2:
		read(os.Args[2], numbers[0], time.Duration(numbers[1])*time.Second)
	case os.Args[1] == "events" && len(numbers) == 3:
		events(os.Args[2], numbers[0], numbers[1], numbers[2])
	default:
		log.Fatal("wrong arguments")
	}
}

// A conn is a connection with a fid for the file that it uses.
type conn struct {
	net.Conn
	r *bufio.Reader
	w *bufio.Writer
}

const fid = 2

func open(socket, file string, mode uint8) *conn {
	c, err := net.Dial("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	conn := &conn{c, bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)}
	conn.rpc(&plan9.Fcall{Type: plan9.Tversion, Tag: plan9.NOTAG, Msize: 64 << 10, Version: "9P2000"})
	conn.rpc(&plan9.Fcall{Type: plan9.Tattach, Tag: 1, Fid: 1, Afid: plan9.NOFID, Uname: "none"})
	conn.rpc(&plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 1, Newfid: fid, Wname: []string{file}})
	conn.rpc(&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: fid, Mode: mode})
	return conn
}

func (c *conn) rpc(tx *plan9.Fcall) {
	if err := plan9.WriteFcall(c.Conn, tx); err != nil {
		log.Fatal(err)
	}
	rx, err := plan9.ReadFcall(c.r)
	if err != nil {
		log.Fatal(err)
	}
	if rx.Type != tx.Type+1 {
		log.Fatalf("%v was answered with %v", tx, rx)
	}
}

func (c *conn) write(text string) {
	c.rpc(&plan9.Fcall{Type: plan9.Twrite, Tag: 1, Fid: fid, Data: []byte(text)})
}

// readAll keeps so many reads under way, and calls each with the tag and data
// of every answer until it returns false.
func (c *conn) readAll(outstanding int, each func(data []byte) bool) {
	msg, err := (&plan9.Fcall{Type: plan9.Tread, Fid: fid, Count: 8192}).Bytes()
	if err != nil {
		log.Fatal(err)
	}
	send := func(tag uint16) {
		binary.LittleEndian.PutUint16(msg[5:], tag)
		c.w.Write(msg)
	}
	for tag := range outstanding {
		send(uint16(tag))
	}
	c.w.Flush()
	reply := make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(c.r, reply[:4]); err != nil {
			log.Fatal(err)
		}
		size := binary.LittleEndian.Uint32(reply)
		if _, err := io.ReadFull(c.r, reply[4:size]); err != nil {
			log.Fatal(err)
		}
		if reply[4] != plan9.Rread {
			log.Fatalf("a Tread was answered with type %d: %q", reply[4], reply[7:size])
		}
		if !each(reply[11:size]) {
			return
		}
		send(binary.LittleEndian.Uint16(reply[5:]))
		// Nothing more is at hand: what has been asked for may go.
		if c.r.Buffered() == 0 {
			c.w.Flush()
		}
	}
}

func read(socket string, outstanding int, duration time.Duration) {
	c := open(socket, "event", plan9.OREAD)
	warm := time.Now().Add(duration / 4)
	var start time.Time
	reads := 0
	c.readAll(outstanding, func(data []byte) bool {
		if len(data) != payloadBytes {
			log.Fatalf("a read brought %d bytes", len(data))
		}
		reads++
		if reads%64 != 0 {
			return true
		}
		now := time.Now()
		if start.IsZero() {
			if now.After(warm) {
				start, reads = now, 0
			}
			return true
		}
		if passed := now.Sub(start); passed >= duration {
			fmt.Printf("%.0f\n", float64(reads)/passed.Seconds())
			return false
		}
		return true
	})
}

func events(socket string, readers, matching, count int) {
	groups := readers / matching
	var delivered atomic.Int64
	progress := make(chan struct{}, 1)
	var ready, done sync.WaitGroup
	for i := range readers {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			c := open(socket, "event", plan9.ORDWR)
			group := fmt.Sprintf("group.%d", i%groups)
			// Different filters, of which one matters.
			c.write(fmt.Sprintf("%s own.%d", group, i))
			// A read of nothing is answered when the subscription has begun.
			c.rpc(&plan9.Fcall{Type: plan9.Tread, Tag: 1, Fid: fid, Count: 0})
			ready.Done()
			left := count / groups
			c.readAll(window, func(data []byte) bool {
				if len(data) != len(group)+1+payloadBytes+1 {
					log.Fatalf("a read brought %q", data)
				}
				if delivered.Add(1)%1000 == 0 {
					select {
					case progress <- struct{}{}:
					default:
					}
				}
				left--
				return left > 0
			})
		}()
	}
	ready.Wait()

	pub := open(socket, "pub", plan9.OWRITE)
	payload := strings.Repeat("x", payloadBytes)
	start := time.Now()
	for sent := 0; sent < count; {
		var lines strings.Builder
		for range batch {
			fmt.Fprintf(&lines, "group.%d %s\n", sent%groups, payload)
			sent++
		}
		pub.write(lines.String())
		for int64(sent*matching)-delivered.Load() > maxDue {
			<-progress
		}
	}
	done.Wait()
	fmt.Printf("%.0f\n", float64(count*matching)/time.Since(start).Seconds())
}
