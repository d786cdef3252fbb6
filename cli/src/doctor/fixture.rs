//! A made-up tree of files in the place of `/`, for the tests.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::host::Host;

pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn link(&self, name: &str, target: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub fn host(&self) -> Host {
        Host {
            root: self.0.path().to_owned(),
            real: false,
            memlock: (None, None),
            library_path: OsString::new(),
        }
    }

    /// A port as the mlx5 driver shows it, with a link-local GID and that of 10.0.0.1, each as RoCE v1
    /// and v2.
    pub fn mlx5(&self, device: &str, netdev: &str, pci: &str) {
        let dir = format!("sys/class/infiniband/{device}");
        self.file(&format!("{dir}/node_type"), "1: CA\n");
        self.file(&format!("sys/devices/pci/{pci}/numa_node"), "1\n");
        self.link(
            &format!("{dir}/device"),
            &format!("../../../devices/pci/{pci}"),
        );
        self.link(
            &format!("sys/devices/pci/{pci}/driver"),
            "../../../bus/pci/drivers/mlx5_core",
        );
        self.file(&format!("sys/devices/pci/{pci}/net/{netdev}/mtu"), "");
        self.file(&format!("sys/class/net/{netdev}/mtu"), "4200\n");
        self.file(&format!("{dir}/ports/1/state"), "4: ACTIVE\n");
        self.file(&format!("{dir}/ports/1/link_layer"), "Ethernet\n");
        let link_local = "fe80:0000:0000:0000:0e42:a1ff:fe00:0001";
        let routable = "0000:0000:0000:0000:0000:ffff:0a00:0001";
        for (index, gid, kind) in [
            (0, link_local, "IB/RoCE v1"),
            (1, link_local, "RoCE v2"),
            (2, routable, "IB/RoCE v1"),
            (3, routable, "RoCE v2"),
        ] {
            self.gid(device, index, gid, kind, netdev);
        }
        // What the driver shows for a free entry: a zero GID, and EINVAL for its attributes.
        let zero = "0000:0000:0000:0000:0000:0000:0000:0000\n";
        self.file(&format!("{dir}/ports/1/gids/4"), zero);
    }

    pub fn gid(&self, device: &str, index: u32, gid: &str, kind: &str, netdev: &str) {
        let port = format!("sys/class/infiniband/{device}/ports/1");
        self.file(&format!("{port}/gids/{index}"), &format!("{gid}\n"));
        let attributes = format!("{port}/gid_attrs");
        self.file(&format!("{attributes}/types/{index}"), &format!("{kind}\n"));
        self.file(
            &format!("{attributes}/ndevs/{index}"),
            &format!("{netdev}\n"),
        );
    }
}
